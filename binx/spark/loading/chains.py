"""Which binary logs continue each other, and in which order the servers' chains are applied.

A chain is one server's binary logs of one name, numbered upwards. SCNs order all changes within it. After
``RESET BINARY LOGS`` numbering restarts, which begins another chain; so does another server. Chains keep
their names for good, so that rows written by earlier runs stay attributed.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .manifests import Manifest, Source
from .outcome import ExitCode, LoadError


@dataclass(slots=True)
class Chain:
    """One chain: the time each of its logs was begun, by number and identity, and its first commit."""

    name: str
    server_id: int
    base: str
    first_commit: str = ""
    logs: dict[int, tuple[str, int]] = field(default_factory=dict)
    _numbers: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._numbers = sorted(self.logs)

    def takes(self, source: Source) -> bool:
        """Whether the log fits: same server and name, its number free or its own, times not running back."""
        if (source.server_id, source.base) != (self.server_id, self.base):
            return False
        if source.number in self.logs:
            return self.logs[source.number][0] == source.identity
        place = bisect(self._numbers, source.number)
        before, after = self._numbers[max(place - 1, 0) : place], self._numbers[place : place + 1]
        return all(self.logs[number][1] <= source.time for number in before) and all(
            source.time <= self.logs[number][1] for number in after
        )

    def add(self, source: Source, first_commit: str) -> None:
        """Let the log be part of this chain."""
        if source.number not in self.logs:
            insort(self._numbers, source.number)
        self.logs[source.number] = (source.identity, source.time)
        if first_commit and (not self.first_commit or first_commit < self.first_commit):
            self.first_commit = first_commit


class Chains:
    """All chains that are known, and each log's place among them."""

    def __init__(self, chains: Iterable[Chain] = ()) -> None:
        self._chains = list(chains)

    @classmethod
    def from_json(cls, entries: Iterable[Mapping[str, Any]]) -> Chains:
        """What :meth:`to_json` wrote."""
        return cls(
            Chain(
                entry["name"],
                entry["server_id"],
                entry["base"],
                entry["first_commit"],
                {int(number): (identity, time) for number, identity, time in entry["logs"]},
            )
            for entry in entries
        )

    def to_json(self) -> list[dict[str, Any]]:
        """For the loader's state."""
        return [
            {
                "name": chain.name,
                "server_id": chain.server_id,
                "base": chain.base,
                "first_commit": chain.first_commit,
                "logs": [[number, identity, time] for number, (identity, time) in sorted(chain.logs.items())],
            }
            for chain in self._chains
        ]

    def assign(self, manifests: Sequence[Manifest]) -> dict[str, str]:
        """The name of each manifest's chain, by the key of its source; new chains are made as needed."""
        assigned = {}
        ordered = sorted(manifests, key=lambda manifest: (manifest.source.time, manifest.source.number))
        for manifest in ordered:
            source = manifest.source
            chain = next((chain for chain in self._chains if chain.takes(source)), None)
            if chain is None:
                chain = Chain(self._new_name(source), source.server_id, source.base)
                self._chains.append(chain)
            chain.add(source, manifest.first_commit)
            assigned[source.key] = chain.name
        return assigned

    def _new_name(self, source: Source) -> str:
        name = f"{source.server_id}:{source.base}"
        same = sum((chain.server_id, chain.base) == (source.server_id, source.base) for chain in self._chains)
        return name if same == 0 else f"{name}#{same + 1}"

    def ranks(self, order: Sequence[str]) -> dict[str, int]:
        """Each chain's place: first those that ``order`` names, then the others by first commit time.

        Args:
            order: names of chains, or server ids for all chains of a server.

        Raises:
            LoadError: ``order`` names a chain that is not there.
        """

        def place(chain: Chain) -> tuple[int, str, str]:
            named = [index for index, name in enumerate(order) if name in (chain.name, str(chain.server_id))]
            return (named[0] if named else len(order), chain.first_commit, chain.name)

        known = {chain.name for chain in self._chains} | {str(chain.server_id) for chain in self._chains}
        unknown = [name for name in order if name not in known]
        if unknown:
            names = ", ".join(sorted(chain.name for chain in self._chains))
            raise LoadError(f"--chain {unknown[0]}: the data contains only {names}", ExitCode.USAGE)
        return {chain.name: rank for rank, chain in enumerate(sorted(self._chains, key=place))}
