"""Resolve abbreviated UUIDs in GTIDs, and find the position of a GTID in the logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from binx.errors import AbsentError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import GtidSource, UuidSource
from binx.log.chain.ends import known_facts
from binx.log.chain.inputs import STANDARD_INPUT, open_chain, open_logs
from binx.log.identifiers import kernel_intervals, marked_gtids
from binx.log.scan import Scan
from binx.log.selection.selection import wanted_gtids
from binx.log.selection.times import Position

_UUID_SIZE = 36
_SHORT = re.compile(r"\s*([0-9a-fA-F]{4,8}(?:-[0-9a-fA-F-]*)?)(?:\N{HORIZONTAL ELLIPSIS}|\.\.\.)?\s*(?=:)")


def has_short_uuids(text: str) -> bool:
    """Return whether a set has a server's UUID abbreviated to its first digits, as in listings."""
    return any(_is_short(gtids) for gtids in text.split(","))


def _is_short(text: str) -> bool:
    match = _SHORT.match(text)
    return match is not None and len(match[1]) < _UUID_SIZE


def with_whole_uuids(text: str, paths: Sequence[str]) -> GtidSet:
    """Return a set with UUIDs completed from the logs' GTIDs, including those logged before them."""
    return with_uuids_of(text, _sources(paths))


def with_uuids_of(text: str, sources: Iterable[GtidSource]) -> GtidSet:
    """Return a set with UUIDs completed from those of known sources.

    Raises:
        UsageError: none of them begins with the digits of an abbreviated UUID, or several do.
    """
    uuids = {str(UuidSource(source.uuid)) for source in sources if isinstance(source, UuidSource)}

    def completed(text: str) -> str:
        match = _SHORT.match(text)
        if match is None or len(match[1]) == _UUID_SIZE:
            return text
        fitting = sorted(uuid for uuid in uuids if uuid.startswith(match[1].lower()))
        if len(fitting) != 1:
            matches = "none" if not fitting else ", ".join(fitting)
            raise UsageError(
                f"expected the first digits of the UUID of one server in the logs, found {match[1]!r},"
                f" with which {matches} begins"
            )
        return fitting[0] + text[match.end() :]

    return wanted_gtids(",".join(map(completed, text.split(","))))


def _sources(paths: Sequence[str]) -> set[GtidSource]:
    _refuse_standard_input(paths)
    sources: set[GtidSource] = set()
    with open_logs(paths) as logs:
        for log in logs:
            sources.update((known_facts(log).previous_gtids or GtidSet()).sources)
            for table in Scan(log, verify=False):
                sources.update(source for source, _, _ in marked_gtids(table, table.mask()))
    return sources


def position_of(gtid: GtidSet, paths: Sequence[str], *, after: bool) -> Position:
    """Return where the transaction of a GTID begins, or the position after it.

    Raises:
        UsageError: it is not a single GTID.
        AbsentError: it is not in the logs.
    """
    if gtid.count != 1:
        raise UsageError(f"expected one GTID, found {gtid}")
    _refuse_standard_input(paths)
    intervals = kernel_intervals(gtid)
    with open_chain(paths) as chain:
        for ends in chain:
            for table in Scan(ends.file, verify=False):
                mask = table.mask()
                table.keep_gtids(mask, intervals, True)
                for index in table.marked(mask):
                    return Position(ends.file.name, table.value("end" if after else "start", index))
    raise AbsentError(f"not in these files: {gtid}")


def _refuse_standard_input(paths: Sequence[str]) -> None:
    if STANDARD_INPUT in paths:
        raise UsageError("expected files to look GTIDs up in first, found standard input (-)")
