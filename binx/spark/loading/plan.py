"""What a run takes: the files that no earlier run took, and among them those whose rows may be repeated.

Exports may overlap: the same binary log exported twice, in parts, or while it was still written. The SCN
ranges in the manifests tell which files can hold a transaction that another file holds too; only their rows
are compared, all others are taken as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .manifests import DataFile, Manifest, TableName


@dataclass(frozen=True, slots=True)
class Taken:
    """A file of row changes that an earlier run took."""

    chain: str
    sha256: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of row changes that this run takes; ``owner`` names the export that it belongs to."""

    file: DataFile
    chain: str
    owner: str


@dataclass(slots=True)
class TablePlan:
    """What this run takes of one table.

    ``distinct`` files hold rows that no other file holds, those in ``overlapping`` may. ``known`` counts the
    rows of files that earlier runs took, ``repeated`` those of files that are copies of another.
    """

    table: TableName
    distinct: list[Candidate] = field(default_factory=list)
    overlapping: list[Candidate] = field(default_factory=list)
    known: int = 0
    repeated: int = 0
    several_chains: bool = False

    @property
    def candidates(self) -> list[Candidate]:
        """All files that are read."""
        return self.distinct + self.overlapping

    @property
    def rows(self) -> int:
        """The rows in all files that are read, as their manifests count them."""
        return sum(candidate.file.rows for candidate in self.candidates)


def plan_tables(
    manifests: Iterable[Manifest],
    chains: Mapping[str, str],
    taken: Mapping[TableName, Collection[Taken]],
) -> dict[TableName, TablePlan]:
    """Plan all tables that the manifests list.

    Args:
        manifests: all manifests of the input.
        chains: the chain of each manifest, by the key of its source.
        taken: the files of earlier runs.
    """
    plans: dict[TableName, TablePlan] = {}
    fresh: dict[TableName, list[Candidate]] = defaultdict(list)
    for manifest in manifests:
        chain = chains[manifest.source.key]
        owner = f"{manifest.source.key} {manifest.sha256}"
        for file in manifest.of_kind("changes"):
            assert file.table is not None
            plans.setdefault(file.table, TablePlan(file.table))
            if file.rows:
                fresh[file.table].append(Candidate(file, chain, owner))
    for table, plan in plans.items():
        _plan(plan, fresh[table], taken.get(table, ()))
    return plans


def _plan(plan: TablePlan, listed: list[Candidate], taken: Collection[Taken]) -> None:
    known = {(earlier.chain, earlier.sha256) for earlier in taken}
    candidates: dict[tuple[str, str], Candidate] = {}
    for candidate in listed:
        identity = (candidate.chain, candidate.file.sha256)
        if identity in known:
            plan.known += candidate.file.rows
        elif identity in candidates:
            plan.repeated += candidate.file.rows
        else:
            candidates[identity] = candidate
    plan.several_chains = len({chain for chain, _ in known | set(candidates)}) > 1
    for group, alone in _overlaps(candidates.values(), taken):
        (plan.distinct if alone and not plan.several_chains else plan.overlapping).extend(group)


def _overlaps(
    candidates: Iterable[Candidate], taken: Iterable[Taken]
) -> Iterable[tuple[list[Candidate], bool]]:
    """Groups of files whose ranges touch, and whether one export holds the whole group."""
    spans = [(one.chain, one.file.first, one.file.last, one.owner, one) for one in candidates]
    old = [(one.chain, one.first, one.last, "", None) for one in taken]
    group: list[Candidate] = []
    owners: set[str] = set()
    chain, end = "", -1
    for span_chain, first, last, owner, candidate in sorted([*spans, *old], key=lambda span: span[:4]):
        if span_chain != chain or first > end:
            yield group, len(owners) <= 1
            group, owners, chain, end = [], set(), span_chain, last
        end = max(end, last)
        owners.add(owner)
        if candidate is not None:
            group.append(candidate)
    yield group, len(owners) <= 1
