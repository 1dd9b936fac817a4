"""Which blocks of an index file a search can pass over, because none of their transactions is wanted."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from binx.event.gtid_set import GtidSet
from binx.log.file import BinlogFile
from binx.log.gtid_keys import key_of
from binx.log.scanning import decoded_name
from binx.log.selection import Selection, Selector
from binx.log.sidecar_layout import Block, Directory

_SIGN = 1 << 63


class BlockFilter:
    """What a selector's selection asks of a log's blocks.

    A block is passed over only where reading it would change nothing: neither what is taken, nor which GTIDs
    count as found, nor what is said of positions.

    Args:
        selector: the search.
        file: the log.
        directory: that of its index file.
    """

    def __init__(self, selector: Selector, file: BinlogFile, directory: Directory) -> None:
        self._selection = selector.selection
        self._directory = directory
        self._offsets = selector.offsets(file)
        self._gtids = _intervals(selector.selection.gtids)
        self._takes_table = cache(
            lambda number: selector.takes_table(*decoded_name(directory.tables[number]))
        )

    def may_pass(self, block: Block) -> bool:
        """Whether a block has to be read."""
        offsets = self._offsets
        if any(block.start < offset < block.end for offset in (offsets.start, offsets.stop)):
            # What is said of positions within transactions is found there.
            return True
        if block.end <= offsets.start or block.start >= offsets.stop:
            return False
        if self._gtids is not None:
            # All that are wanted are looked at, whatever else is asked: they count as found.
            return any(
                self._wants(self._directory.sources[source], first, last)
                for source, first, last in block.gtids
            )
        return _passes_bounds(self._selection, block) and self._passes_tables(block)

    def _wants(self, source: bytes, first: int, last: int) -> bool:
        starts, ends = (self._gtids or {}).get(source, ([], []))
        place = bisect_right(starts, last)
        return place > 0 and ends[place - 1] >= first

    def _passes_tables(self, block: Block) -> bool:
        selection = self._selection
        if not selection.databases and not selection.tables:
            return True
        # Statements as text, and what ends XA transactions, tell their tables only when they are read.
        return block.statements > 0 or any(self._takes_table(number) for number, *_ in block.tables)


def _passes_bounds(selection: Selection, block: Block) -> bool:
    """Whether a block's bounds leave room for a wanted transaction."""
    earliest, latest = block.times
    if selection.since is not None and latest < selection.since:
        return False
    if selection.until is not None and earliest >= selection.until:
        return False
    if selection.min_bytes is not None and block.largest < selection.min_bytes:
        return False
    signed = tuple(xid - 2 * _SIGN if xid >= _SIGN else xid for xid in selection.xids)
    return (
        _any_within(selection.server_ids, block.servers)
        and _any_within(selection.thread_ids, block.threads)
        and _any_within(signed, block.xids)
    )


def _any_within(wanted: tuple[int, ...], bounds: tuple[int, int] | None) -> bool:
    if not wanted:
        return True
    return bounds is not None and any(bounds[0] <= one <= bounds[1] for one in wanted)


def _intervals(gtids: GtidSet | None) -> dict[bytes, tuple[list[int], list[int]]] | None:
    """By source's key, where the intervals begin and where they end, ascending."""
    if gtids is None:
        return None
    intervals: dict[bytes, tuple[list[int], list[int]]] = {}
    for source, first, last in gtids:
        starts, ends = intervals.setdefault(key_of(source), ([], []))
        starts.append(first)
        ends.append(last)
    return intervals


__all__ = ["BlockFilter"]
