"""What a newer server may write: what may be ignored is reported, all else stops with a message.

The logs are real ones with some bytes changed.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from binx.errors import UnsupportedError
from binx.event.header import EventType
from binx.log.binlog_file import open_files
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.stats.gather import gather
from binx.verify.problems import LogProblemKind
from binx.verify.verification import verify
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.exports import export

SOURCE = TESTDATA / "mysql-9.7" / "small" / "all_types_minimal_metadata.binlog"
CRC = 4
TYPE = 4
QUERY, TABLE_MAP, WRITE_ROWS, GTID = 2, 19, 30, 33
UNKNOWN = 77
IGNORABLE = 0x80
NAME = "bits"
TABLE = b"\x05small\x00\x04bits\x00"
OTHERS = tuple(f"small.{name}" for name in ("bytes", "integers", "numbers", "sets", "shapes", "strings"))

Change = Callable[[bytes], Iterator[bytes]]


def altered(change: Change, source: Path = SOURCE) -> bytes:
    """A log whose events went through ``change``, with sizes, positions and checksums made right again."""
    data = source.read_bytes()
    made, position = bytearray(data[:4]), 4
    while position < len(data):
        size = struct.unpack_from("<I", data, position + 9)[0]
        for event in change(data[position : position + size]):
            ends = struct.pack("<II", len(event), len(made) + len(event))
            body = event[:9] + ends + event[17:-CRC]
            made += body + struct.pack("<I", zlib.crc32(body))
        position += size
    return bytes(made)


def with_event_before(number: int, flags: int) -> Change:
    """An event of an unknown type before the first one of a type."""
    added = struct.pack("<IBIIIH", 1, UNKNOWN, 1, 0, 0, flags) + b"body" + bytes(CRC)
    done: list[bytes] = []

    def change(event: bytes) -> Iterator[bytes]:
        if event[TYPE] == number and not done:
            done.append(event)
            yield added
        yield event

    return change


def with_column_type(number: int) -> Change:
    """Another type for the first column of every table."""

    def change(event: bytes) -> Iterator[bytes]:
        if event[TYPE] == TABLE_MAP:
            place = 19 + 8
            for _ in range(2):
                place += event[place] + 2
            event = event[: place + 1] + bytes([number]) + event[place + 2 :]
        yield event

    return change


def with_column_type_of_one(number: int) -> Change:
    """Another type for the first column of one table."""
    of_all = with_column_type(number)

    def change(event: bytes) -> Iterator[bytes]:
        yield from of_all(event) if event[TYPE] == TABLE_MAP and TABLE in event else (event,)

    return change


def with_metadata(event: bytes) -> Iterator[bytes]:
    """A field of the unknown type 99 after the others of every table map."""
    yield event[:-CRC] + b"\x63\x02ab" + event[-CRC:] if event[TYPE] == TABLE_MAP else event


def with_status_variable(event: bytes) -> Iterator[bytes]:
    """The unknown status variable 200 after the others of every statement."""
    if event[TYPE] == QUERY:
        (size,) = struct.unpack_from("<H", event, 19 + 11)
        end = 19 + 13 + size
        event = (
            event[: 19 + 11] + struct.pack("<H", size + 2) + event[19 + 13 : end] + b"\xc8\x01" + event[end:]
        )
    yield event


def exported(change: Change, folder: Path) -> list[str]:
    """The warnings of an export, whose rows must be those of the log as it was."""
    path = folder / "log.000001"
    path.write_bytes(altered(change))
    images = []
    for name in (str(path), str(SOURCE)):
        (report,) = export(folder / f"{Path(name).stem}-set", [name])
        images.append(report.manifest["conservation"])
        warnings: list[str] = report.manifest["warnings"]
        if name == str(path):
            found = warnings
    assert images[0] == images[1]
    return [warning for warning in found if warning not in warnings]


@pytest.mark.parametrize("before", [TABLE_MAP, GTID], ids=["in a transaction", "between transactions"])
def test_an_unknown_event_that_is_ignorable_is_counted(before: int, tmp_path: Path) -> None:
    warnings = exported(with_event_before(before, IGNORABLE), tmp_path)
    assert warnings == ["1 event of the unknown type 77, marked as ignorable, skipped"]
    files = open_files([str(tmp_path / "log.000001")])
    (finding,) = (one for one in gather(files)["warnings"] if one["kind"] == "unknown_events")
    files[0].close()
    assert finding["count"] == 1
    assert "77" in finding["message"]


@pytest.mark.parametrize("before", [TABLE_MAP, GTID], ids=["in a transaction", "between transactions"])
def test_an_unknown_event_that_is_not_ignorable_stops_with_its_type_and_place(
    before: int, tmp_path: Path
) -> None:
    data = altered(with_event_before(before, 0))
    with pytest.raises(
        UnsupportedError, match=r"event type 77.*not marked as ignorable.*newer version"
    ) as caught:
        exported(with_event_before(before, 0), tmp_path)
    assert caught.value.offset is not None
    assert data[caught.value.offset + TYPE] == UNKNOWN


def test_an_unknown_column_type_stops_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"an unknown one \(type 200\) in column 1.*newer version"):
        exported(with_column_type(200), tmp_path)


@pytest.fixture
def partly_unknown(tmp_path: Path) -> Path:
    """A log of many tables, one of which has a column of the unknown type 200."""
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(altered(with_column_type_of_one(200)))
    return path


def others_exported(path: Path, folder: Path) -> dict[str, Any]:
    """The manifest of an export of all tables but that one."""
    (report,) = export(folder, [path], Selection(tables=OTHERS))
    return report.manifest


def test_tables_without_columns_of_unknown_types_are_read(partly_unknown: Path, tmp_path: Path) -> None:
    """The rest is what it is without that column; nobody can tell how many rows the other table has."""
    source = tmp_path / "whole" / partly_unknown.name
    source.parent.mkdir()
    source.write_bytes(SOURCE.read_bytes())
    found, whole = (
        others_exported(path, tmp_path / f"{path.parent.name}-set") for path in (partly_unknown, source)
    )
    entries = [{one["table"]: one for one in manifest["conservation"]} for manifest in (found, whole)]
    rows = entries[1][NAME]["images"]
    assert entries[0].pop(NAME) | {"uncounted": None} == {
        "db": "small",
        "table": NAME,
        "images": 0,
        "written": 0,
        "filtered": 0,
        "undecodable": 0,
        "uncounted": None,
    }
    assert rows > 0
    assert entries[1].pop(NAME)["filtered"] == rows
    assert entries[0] == entries[1]
    new = [one for one in found["warnings"] if one not in whole["warnings"]]
    assert [f"small.{NAME}: " in one and "skipped and not counted" in one for one in new] == [True]


def with_another_value(event: bytes) -> Iterator[bytes]:
    """Another value at the end of each event of inserted rows."""
    changed = bytes([event[-CRC - 1] ^ 1])
    yield event[: -CRC - 1] + changed + event[-CRC:] if event[TYPE] == WRITE_ROWS else event


@pytest.mark.parametrize("swapped", [False, True])
def test_a_diff_compares_the_other_tables(partly_unknown: Path, tmp_path: Path, swapped: bool) -> None:
    another = tmp_path / "another.000001"
    another.write_bytes(altered(with_another_value))
    for right, is_equal in ((SOURCE, True), (another, False)):
        sides = (right, partly_unknown) if swapped else (partly_unknown, right)
        ended = binx("diff", "--quiet", *sides)
        assert ended.code == 3, ended.err
        assert f"not compared      small.{NAME}: it has a column of an unknown type" in ended.lines
        assert ("different         0" in ended.lines) is is_equal
        document = json.loads(binx("diff", "--quiet", "--json", *sides).out)
        assert document["equal"] is is_equal
        assert document["not_compared"] == [{"db": "small", "table": NAME}]
        assert not any(
            (change[side] or {}).get("table") == NAME
            for one in document["differences"]
            for change in one["changes"]
            for side in ("left", "right")
        )


def test_such_a_table_stops_an_export_that_wants_it(partly_unknown: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=rf"unknown one \(type 200\) in column 1 of small.{NAME};"):
        export(tmp_path / "set", [partly_unknown])


def test_listings_and_figures_report_rows_that_are_not_counted(partly_unknown: Path) -> None:
    expected = f"rows of small.{NAME} are not counted, because the size of a column is not known"
    listed = [binx("ls", *options, partly_unknown) for options in ((), ("--no-index",))]
    assert binx("index", partly_unknown).code == 0
    listed.append(binx("ls", partly_unknown))
    for ended in listed:
        assert (ended.code, expected in ended.err) == (0, True)
        assert ended.out == listed[0].out
    files = open_files([str(partly_unknown)])
    (finding,) = (one for one in gather(files)["warnings"] if one["kind"] == "uncounted_rows")
    files[0].close()
    assert f"small.{NAME}" in finding["message"]


@pytest.mark.parametrize("number", [200, 20])
def test_a_verification_reports_rows_that_it_did_not_look_at(number: int, tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(altered(with_column_type_of_one(number)))
    (problem,) = verify([str(path)]).problems
    assert problem.kind is LogProblemKind.UNKNOWN_EVENT
    assert f"column 1 of small.{NAME} has the type {number}, which" in problem.message


def test_a_transaction_of_another_table_is_cut_out_in_every_format(
    partly_unknown: Path, tmp_path: Path
) -> None:
    for form in SliceFormat:
        outputs = []
        for path in (partly_unknown, SOURCE):
            with open_chain([str(path)]) as chain:
                extract(chain, Selection(tables=("small.sets",)), str(tmp_path / "out"), ExtractOptions(form))
            outputs.append((tmp_path / "out").read_bytes())
        assert b"sets" in outputs[0]
        if form is SliceFormat.SQL:
            statements = [[line for line in out.splitlines() if line[:2] != b"--"] for out in outputs]
            assert statements[0] == statements[1]


def test_a_typed_array_which_no_table_can_have_stops_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"a typed array \(type 20\) in column 1"):
        exported(with_column_type(20), tmp_path)


def test_unknown_metadata_of_a_table_is_passed_over_and_reported(tmp_path: Path) -> None:
    warnings = exported(with_metadata, tmp_path)
    assert len(warnings) > 1
    assert all("metadata of type 99, which is unknown to binx" in warning for warning in warnings)
    files = open_files([str(tmp_path / "log.000001")])
    (finding,) = (one for one in gather(files)["warnings"] if one["kind"] == "unknown_metadata")
    files[0].close()
    assert finding["count"] == len(warnings)
    assert "type 99" in finding["message"]


def test_an_unknown_status_variable_is_reported(tmp_path: Path) -> None:
    (warning,) = exported(with_status_variable, tmp_path)
    assert warning.startswith("statements have the status variable 200, which is unknown to binx")


def test_an_incident_is_reported(tmp_path: Path) -> None:
    """INCIDENT is LOST_EVENTS, 1, and a message; Incident_event in MySQL's control_events.h."""
    incident = struct.pack("<IBIIIH", 1, EventType.INCIDENT, 1, 0, 0, 0) + b"\x01\x00\x04lost" + bytes(CRC)
    done: list[bytes] = []

    def change(event: bytes) -> Iterator[bytes]:
        if event[TYPE] == GTID and not done:
            done.append(event)
            yield incident
        yield event

    assert exported(change, tmp_path) == [
        "the server recorded in 1 place that changes are missing from its log (INCIDENT)"
    ]
