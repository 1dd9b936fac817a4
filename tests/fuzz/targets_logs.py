"""Fuzzing targets that take a log and write it in other forms, or find its transactions in several ways."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from binx.errors import BinxError
from binx.event.format import FormatDescription
from binx.event.gtid.mysql_events import Gtid
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import kernel_intervals
from binx.log.scan import Scan
from binx.log.transaction_events import raw_events
from binx.rows.ddl.catalog import Catalog
from binx.slices.binlog import write_binlog
from binx.slices.json_lines import write_json
from binx.slices.search import Selected
from binx.slices.sql.write import write_sql
from binx.slices.thl import write_thl
from binx.undo.options import OnConflict
from binx.undo.script import write_undo
from tests.log.searching import Bytes

_SEARCHED = 5
_ALLOWED = {ord("\n")}
_CONTROL = bytes(byte for byte in (*range(32), 127) if byte not in _ALLOWED)


def _selected(data: bytes) -> Iterator[Selected]:
    scan = Scan(BinlogFile(Bytes(data)), Level.LEVEL_TABLES, verify=False)
    for table in scan:
        yield Selected(scan, table, table.mask(), first_seqno=1)


def texts(data: bytes) -> None:
    """A log as JSON, a listing, SQL and what undoes it; JSON is JSON, without control characters."""
    for rows in (False, True):
        with suppress(BinxError):
            output = io.BytesIO()
            try:
                write_json(_selected(data), output, Catalog(), rows=rows)
            finally:
                written = output.getvalue()
                assert not _has_control_characters(written)
                for line in written.decode().split("\n")[:-1]:
                    json.loads(line)
    for fragment in (200, 1 << 20):
        with suppress(BinxError):
            output = io.BytesIO()
            write_thl(_selected(data), output, Catalog(), fragment_bytes=fragment)
    with suppress(BinxError):
        # Statements may have bytes that are no text.
        write_sql(_selected(data), io.BytesIO(), Catalog())
    for on_conflict in OnConflict:
        with suppress(BinxError):
            write_undo(_selected(data), io.BytesIO(), Catalog(), on_conflict=on_conflict)


def _has_control_characters(text: bytes) -> bool:
    return len(text.translate(None, _CONTROL)) != len(text)


def slices(data: bytes) -> None:
    """A log written as a slice of all its transactions: it has them again, and a slice of it is the same."""
    slice_ = _slice(data)
    again = _slice(slice_)
    assert again == slice_
    assert [gtid for *_, gtid in _places(slice_, Level.LEVEL_EVENTS)] == [
        gtid for *_, gtid in _places(data, Level.LEVEL_INDEX)
    ]


def _slice(data: bytes) -> bytes:
    file, output = BinlogFile(Bytes(data)), io.BytesIO()
    scan = Scan(file, verify=False)
    runs = (Selected(scan, table, table.mask()) for table in scan)
    write_binlog(runs, output, verify=False)
    return output.getvalue()


Place = tuple[int, int, str | None]


def _places(data: bytes, level: Level, gtids: GtidSet | None = None) -> list[Place]:
    intervals = None if gtids is None else kernel_intervals(gtids)
    return [
        (table.value("start", index), table.value("end", index), table.gtid(index))
        for table in Scan(BinlogFile(Bytes(data)), level, verify=False, gtids=intervals)
        for index in range(len(table))
    ]


def scans(data: bytes) -> None:
    """A log's transactions: found event by event, by their lengths where these are right, and by GTID."""
    walked = _places(data, Level.LEVEL_EVENTS)
    assert _places(data, Level.LEVEL_TABLES) == walked
    if not _lengths_are_right(data):
        return
    assert _places(data, Level.LEVEL_INDEX) == walked
    counts = Counter(gtid for *_, gtid in walked)
    once = [place for place in walked if place[2] is not None and counts[place[2]] == 1]
    for place in islice(once, _SEARCHED):
        wanted = GtidSet.parse(str(place[2]))
        found = _places(data, Level.LEVEL_INDEX, wanted)
        assert [one for one in found if one[2] == place[2]] == [place]


def _lengths_are_right(data: bytes) -> bool:
    """Whether each transaction is as long as its GTID event says, if that says anything."""
    file = BinlogFile(Bytes(data))
    end, described = file.first_position, file.format
    for table in Scan(file, Level.LEVEL_EVENTS, verify=False):
        described = table.format
        for index in range(len(table)):
            start, end = table.value("start", index), table.value("end", index)
            first = next(iter(raw_events(file, start, end, described)))
            if isinstance(first.event, Gtid) and first.event.transaction_length not in (None, 0, end - start):
                return False
    return not _claims_what_is_cut(file, end, described)


def _claims_what_is_cut(file: BinlogFile, start: int, described: FormatDescription) -> bool:
    """Whether a transaction after the last whole one that cannot be walked claims to end within the log."""
    with suppress(BinxError):
        for one in raw_events(file, start, file.size, described):
            left = file.size - one.header.position
            if isinstance(one.event, Gtid) and 0 < (one.event.transaction_length or 0) <= left:
                return True
    return False
