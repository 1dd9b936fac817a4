"""Contracts of the documents that binx keeps: manifests of data sets and archives, the state of tables.

Each document says the number of its contract. Whatever an earlier version of binx wrote is read by every
later one: a change of a document's fields, of their meaning or of the files that it names takes a new number,
and a step here from the number before, so that readers know one contract alone. What is read in an earlier
contract is written in the present one by whoever writes it next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from binx.errors import UnsupportedError

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns a document in the next contract; it may change the one that it is given."""


@dataclass(frozen=True)
class Contract:
    """The contract of a kind of document.

    Attributes:
        number: the number that documents are written with.
        steps: by number, what brings a document of that contract to the next one.
        again: what to do about a document of a contract before all steps, which no release wrote.
    """

    number: int
    again: str
    steps: Mapping[int, Step] = field(default_factory=dict)

    def migrated(self, document: dict[str, Any], path: str) -> dict[str, Any]:
        """Return a document in this contract.

        Raises:
            UnsupportedError: a newer version of binx wrote it, or none that was released.
            KeyError, TypeError: it has no contract.
        """
        found = document["contract"]
        if not isinstance(found, int):
            raise TypeError(f"its contract is {found!r}")
        if found > self.number:
            raise UnsupportedError(
                f"has contract {found}, and this version of binx reads contracts up to {self.number}: a"
                " newer version wrote it, use that one",
                path=path,
            )
        while found < self.number:
            if found not in self.steps:
                raise UnsupportedError(
                    f"has contract {found}, which no released version of binx wrote: {self.again}", path=path
                )
            document = {**self.steps[found](document), "contract": found + 1}
            found += 1
        return document
