"""The log position, GTID set or time of a schema dump, from the user or the dump's own comments."""

from __future__ import annotations

from typing import NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import position_in_dump
from binx.log.selection.times import parse_time
from binx.rows.logged_statements import Statement

_HEAD = 65_536
"""Characters at a dump's start that may record its position, before its first table."""


_MOST_DIGITS = 20


class DumpMoment(NamedTuple):
    """A moment in a server's logs: a place in them, what was committed by then, or a time.

    Attributes:
        text: the same in words, as in "as of …".
        file: a log's name, and with it the offset in it.
        gtids: what was committed by then; of a GTID alone, it and those before it of the same source.
        time: µs since 1970.
    """

    text: str
    file: str = ""
    position: int = 0
    gtids: GtidSet = GtidSet()
    time: int | None = None

    def is_after(self, file: str, statement: Statement, names: list[str]) -> bool | None:
        """Whether a logged statement precedes the dump; None if unknown.

        Args:
            names: those of all logs, in order.
        """
        if self in (START, END):
            return self == END
        if self.time is not None:
            return statement.commit_timestamp <= self.time
        by_position = self._is_after_position(file, statement.position, names) if self.file else None
        return self._has(statement.transaction) if by_position is None else by_position

    def _has(self, transaction: str) -> bool | None:
        try:
            ((source, number, _),) = GtidSet.parse(transaction)
        except (UsageError, ValueError):
            return None
        return self.gtids.contains(source, number) if source in self.gtids.sources else None

    def _is_after_position(self, file: str, position: int, names: list[str]) -> bool | None:
        if self.file in names:
            own_index, index = names.index(self.file), names.index(file)
            return index < own_index or (index == own_index and position < self.position)
        base, _, number = self.file.rpartition(".")
        first_base, _, first = names[0].rpartition(".")
        last = names[-1].rpartition(".")[2]
        is_known = all(digits.isdecimal() and len(digits) < _MOST_DIGITS for digits in (number, first, last))
        if base != first_base or not is_known:
            return None
        if int(number) < int(first):
            return False
        return True if int(number) > int(last) else None


START = DumpMoment("the start of the logs")
END = DumpMoment("the end of the logs")
UNKNOWN = DumpMoment("an unknown moment")


def parse_moment(text: str) -> DumpMoment:
    """Parse the part after the ``@`` of ``--schema FILE@…``.

    Raises:
        UsageError: it is neither ``start`` nor ``end``, and no GTID and no time.
    """
    word = text.strip().lower()
    if word in {"start", "end"}:
        return START if word == "start" else END
    try:
        return DumpMoment(text, time=parse_time(text))
    except UsageError:
        pass
    try:
        gtids = _up_to(GtidSet.parse(text))
    except UsageError:
        gtids = GtidSet()
    if not gtids:
        raise UsageError(
            f"expected start, end, a GTID or a time after the @ of a schema file, found {text!r}; such as"
            " schema.sql@start, schema.sql@0-10-1234 or schema.sql@2026-11-21T09:30:00Z"
        )
    return DumpMoment(f"GTID {text}", gtids=gtids)


def recorded_moment(dump: str) -> DumpMoment:
    """Return the position that the dump's program recorded (``--source-data``, ``--master-data``, GTIDs)."""
    try:
        position = position_in_dump(dump[:_HEAD])
    except UsageError:
        return UNKNOWN
    gtids = position.gtids
    if any(isinstance(source, DomainSource) for source in gtids.sources):
        gtids = _up_to(gtids)
    if position.file:
        return DumpMoment(f"{position.file}:{position.offset}", position.file, position.offset, gtids)
    return DumpMoment(f"GTID {gtids}", gtids=gtids) if gtids else UNKNOWN


def _up_to(gtids: GtidSet) -> GtidSet:
    """Extend each GTID that stands alone to all before it of the same source."""
    return GtidSet([(source, 1 if first == last else first, last) for source, first, last in gtids])
