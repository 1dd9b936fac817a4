"""Which of several chains comes first, and what was lost between them, as their GTIDs tell."""

from __future__ import annotations

import pytest

from binx.event.gtid.sets import GtidSet
from binx.log.succession import ChainGtids, in_turn, never_had, takes_over, with_lower_numbers

A, B, C = (f"{digit * 8}-1111-1111-1111-111111111111" for digit in "abc")


def chain(logged: str, before: str = "") -> ChainGtids:
    own = GtidSet.parse(logged)
    return ChainGtids(own, own | with_lower_numbers(GtidSet.parse(before)))


@pytest.mark.parametrize(
    ("chains", "order"),
    [
        # The replica's logs reach back further than those of the primary that failed.
        ([chain(f"{A}:1-95,{B}:1-20"), chain(f"{A}:50-100", f"{A}:1-49")], [1, 0]),
        ([chain(f"{C}:1,{B}:1", f"{A}:1"), chain(f"{B}:1-3", f"{A}:1"), chain(f"{A}:1-2")], [2, 1, 0]),
        # Servers that replicate from each other, or know nothing of each other, stay as they were.
        ([chain(f"{A}:1-9,{B}:1-5"), chain(f"{A}:1-8,{B}:1-6")], [0, 1]),
        ([chain(f"{B}:1-9"), chain(f"{A}:1-9")], [0, 1]),
        ([chain("0-2-96..150", "0-1-95"), chain("0-1-50..100", "0-1-49")], [1, 0]),
        # Without log_slave_updates, a domain's numbers tell.
        ([chain("0-2-96..150"), chain("0-1-1..95")], [1, 0]),
        ([chain("0-2-96..150"), chain("0-1-1..99")], [0, 1]),
        ([chain("0-2-96..150,7-2-1"), chain("0-1-1..95,7-1-5")], [0, 1]),
    ],
)  # fmt: skip
def test_chains_are_in_the_order_of_their_gtids(chains: list[ChainGtids], order: list[int]) -> None:
    assert in_turn(chains) == order


@pytest.mark.parametrize(
    ("earlier", "later", "lost"),
    [
        (chain(f"{A}:1-100"), chain(f"{B}:1-20", f"{A}:1-95"), f"{A}:96-100"),
        (chain(f"{A}:1-100:tag:1-3"), chain(f"{B}:1-20", f"{A}:1-95:tag:1"), f"{A}:96-100:tag:2-3"),
        (chain("0-1-50..100"), chain("0-1-60..95,0-2-96..99", "0-1-59"), "0-1-96..100"),
    ],
)
def test_what_the_server_that_took_over_never_had_is_lost(
    earlier: ChainGtids, later: ChainGtids, lost: str
) -> None:
    assert (takes_over(earlier, later), takes_over(later, earlier)) == (True, False)
    assert str(never_had(earlier, later)) == lost


def test_no_server_takes_over_from_one_that_it_does_not_know() -> None:
    assert not takes_over(chain(f"{A}:1-9"), chain(f"{B}:1-9,{C}:1"))
    assert not takes_over(chain(""), chain(f"{B}:1-9"))
    assert not takes_over(chain("0-1-1..100"), chain("0-2-96..150"))
