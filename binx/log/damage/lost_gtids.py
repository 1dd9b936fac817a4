"""Which GTIDs are missing exactly where a file is damaged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource

Runs = Iterable[tuple[GtidSource, int, int]]


class _Numbers(NamedTuple):
    """GTIDs that stand in one span."""

    first: int
    last: int
    span: int
    source: GtidSource


def gtids_lost_at(spans: Sequence[Runs]) -> list[GtidSet]:
    """Tell which GTIDs each damage took.

    Servers number the transactions of a source one after another, MariaDB those of a domain. Numbers of which
    the one before is in front of damage and the one behind is behind it were lost there: other holes are of
    replicas that filter, or that commit out of order.

    Args:
        spans: the GTIDs in front of the first damage, between it and the second, and so on.

    Returns:
        A set for each damage, that is one less than there are spans. Numbers that were lost at several, as
        nothing between these tells where, are in the set of the first.
    """
    lines: dict[Hashable, list[_Numbers]] = {}
    for span, runs in enumerate(spans):
        for source, first, last in runs:
            line = source.domain if isinstance(source, DomainSource) else source
            lines.setdefault(line, []).append(_Numbers(first, last, span, source))
    lost: list[list[tuple[GtidSource, int, int]]] = [[] for _ in spans[1:]]
    for numbers in lines.values():
        for before, after in pairwise(sorted(numbers, key=lambda one: one[:3])):
            if before.span < after.span and before.last + 1 < after.first:
                lost[before.span].append((after.source, before.last + 1, after.first - 1))
    return [GtidSet(runs) for runs in lost]


__all__ = ["gtids_lost_at"]
