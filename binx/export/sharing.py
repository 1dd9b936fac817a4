"""How logs are shared out among processes: whole ones, and slices of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LEAST_SHARED = 128 * 1024 * 1024
"""Bytes of all logs from which on processes share them."""

_COST_OF_SLICES = 1.15
"""How long slices take together, where the log in one takes 1."""


class Place(NamedTuple):
    """What must be known at the beginning of a log of what stands before it in its chain.

    Attributes:
        epoch: logs before it that a server began at its start.
        seqno: number of its first transaction.
        tables: the tables known there, pickled.
    """

    epoch: int
    seqno: int
    tables: bytes


def whole_logs(sizes: Sequence[int], processes: int) -> int:
    """How many logs, the first ones, each go whole to a process; those behind are sliced.

    Whole logs cost nothing beside their decoding, but processes may come to the end of theirs at different
    times. Slices of the logs behind fill that up.

    Args:
        sizes: bytes of each log.
        processes: how many there are.
    """
    best, least = 0, float("inf")
    busy = [0] * processes
    behind = sum(sizes)
    for count in range(len(sizes) + 1):
        # All together finish when the work is shared evenly, unless one is busy for longer.
        needed = max(*busy, (sum(busy) + _COST_OF_SLICES * behind) / processes)
        if needed <= least:
            best, least = count, needed
        if count < len(sizes):
            first = busy.index(min(busy))
            busy[first] += sizes[count]
            behind -= sizes[count]
    return best


__all__ = ["LEAST_SHARED", "Place", "whole_logs"]
