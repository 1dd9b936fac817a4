"""XA transactions: their rows are logged when they are prepared, and hold only once they are committed.

Until then no other transaction changes these rows, nor a statement their table. So what was committed counts
where it was prepared, also if a load before did not know that yet.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from binx.spark.lake.model import Statement


@dataclass(slots=True)
class Prepared:
    """Prepared transactions, by chain and commit version: rolled back or open ones, and committed ones.

    Of the committed ones the place of the commit is known.
    """

    withheld: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    committed: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)

    def withheld_in(self, chain: str, first: int, last: int) -> tuple[int, ...]:
        """The commit versions of those in a span that do not hold."""
        listed = self.withheld.get(chain, [])
        return tuple(listed[bisect_left(listed, first) : bisect_right(listed, last)])


def follow_prepared(statements: Iterable[Statement]) -> Prepared:
    """What became of prepared transactions."""
    found = Prepared()
    open_: dict[str, tuple[str, int]] = {}
    for statement in statements:
        for effect in statement.effects:
            place = (statement.chain, statement.scn)
            xid = effect.get("xid") or ""
            match effect["action"]:
                case "prepared":
                    if xid in open_:
                        _withhold(found, open_[xid])
                    open_[xid] = place
                case "committed" if xid in open_:
                    found.committed[open_.pop(xid)] = place
                case "rolled_back" if xid in open_:
                    _withhold(found, open_.pop(xid))
    for place in open_.values():
        _withhold(found, place)
    for listed in found.withheld.values():
        listed.sort()
    return found


def _withhold(found: Prepared, place: tuple[str, int]) -> None:
    found.withheld[place[0]].append(place[1])
