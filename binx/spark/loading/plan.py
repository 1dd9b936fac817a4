"""What a run takes: the files that no earlier run took, and among them those whose rows may be repeated.

Exports may overlap: the same binary log exported twice, in parts, or while it was still written. The SCN
ranges in the manifests tell which files can hold a transaction that another file holds too. Where the exports
have every transaction of their span, each span is taken from one of them; only the rows of files from exports
that may lack some are compared. All others are taken as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from .manifests import DataFile, Manifest, TableName

Span = tuple[int, int]
"""A first and a last SCN."""

Place = tuple[str, int]
"""Where a transaction is: its chain and its SCN there."""

Event = tuple[str, int]
"""A transaction and its event's time, or its place where it has no name."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file of row changes that an earlier run took; ``cover`` is that of its manifest."""

    chain: str
    sha256: str
    first: int
    last: int
    cover: Span | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of row changes that this run takes; ``owner`` names the export that it belongs to.

    ``cover`` is that of the export's manifest. Of the rows, those in ``spans`` are taken; None for all.
    """

    file: DataFile
    chain: str
    owner: str
    cover: Span | None = None
    spans: tuple[Span, ...] | None = None


@dataclass(slots=True)
class TablePlan:
    """What this run takes of one table.

    ``distinct`` files hold rows that no other file holds, ``clipped`` ones do within their spans, those in
    ``overlapping`` may not. ``known`` counts the rows of files that earlier runs took, ``repeated`` those of
    files that are copies of another.
    """

    table: TableName
    distinct: list[Candidate] = field(default_factory=list)
    clipped: list[Candidate] = field(default_factory=list)
    overlapping: list[Candidate] = field(default_factory=list)
    known: int = 0
    repeated: int = 0
    several_chains: bool = False

    @property
    def candidates(self) -> list[Candidate]:
        """All files that this run takes."""
        return self.distinct + self.clipped + self.overlapping

    @property
    def is_repeated(self) -> bool:
        """Whether all rows of all files are known from other files."""
        return all(candidate.spans == () for candidate in self.candidates)

    @property
    def rows(self) -> int:
        """The rows in all files that this run takes, as their manifests count them."""
        return sum(candidate.file.rows for candidate in self.candidates)

    @property
    def bytes(self) -> int:
        """The size of all files that this run takes."""
        return sum(candidate.file.bytes for candidate in self.candidates)


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
                fresh[file.table].append(Candidate(file, chain, owner, manifest.cover))
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
    for group in _overlaps(candidates.values(), taken):
        if plan.several_chains or not (group.alone or group.covered):
            plan.overlapping += group.fresh
        elif group.alone:
            plan.distinct += group.fresh
        else:
            plan.clipped += _clip(group)


@dataclass(slots=True)
class _Group:
    """Files whose ranges touch: those to take, and those that earlier runs took."""

    fresh: list[Candidate] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        """Whether one export holds the whole group."""
        return not self.taken and len({candidate.owner for candidate in self.fresh}) <= 1

    @property
    def covered(self) -> bool:
        """Whether each export has all transactions of its span."""
        covers = [one.cover for one in self.fresh] + [one.cover for one in self.taken]
        return None not in covers


def _overlaps(candidates: Iterable[Candidate], taken: Iterable[Taken]) -> Iterable[_Group]:
    """Groups of files whose ranges touch."""
    spans: list[tuple[str, int, int, str, Candidate | Taken]] = [
        (one.chain, one.file.first, one.file.last, one.owner, one) for one in candidates
    ]
    spans += [(one.chain, one.first, one.last, "", one) for one in taken]
    group = _Group()
    chain, end = "", -1
    for span_chain, first, last, _, one in sorted(spans, key=lambda span: span[:4]):
        if span_chain != chain or first > end:
            yield group
            group, chain, end = _Group(), span_chain, last
        end = max(end, last)
        if isinstance(one, Candidate):
            group.fresh.append(one)
        else:
            group.taken.append(one)
    yield group


def _clip(group: _Group) -> list[Candidate]:
    """The files to take, each with the spans that no other export gives: the longest export first."""
    spans = {candidate.owner: candidate.cover for candidate in group.fresh}
    given = [one.cover for one in group.taken if one.cover is not None]
    left: dict[str, tuple[Span, ...]] = {}
    order = [(cover[0], -cover[1], owner) for owner, cover in spans.items() if cover is not None]
    for first, last, owner in sorted(order):
        left[owner] = _without((first, -last), given)
        given += left[owner]
    return [replace(candidate, spans=left[candidate.owner]) for candidate in group.fresh]


def _without(span: Span, given: Iterable[Span]) -> tuple[Span, ...]:
    """What is left of a span when others are taken out."""
    left = []
    start, end = span
    for first, last in sorted(given):
        if first > start:
            left.append((start, min(end, first - 1)))
        start = max(start, last + 1)
        if start > end:
            return tuple(left)
    return (*left, (start, end))
