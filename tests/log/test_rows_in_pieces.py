"""Rows events in pieces (MariaDB 12.3) are what they were before they were cut, in every command."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from binx.errors import DamagedError, ExitCode
from binx.event import partial_rows
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.log.pieces import Pieces, in_pieces
from tests.slices.sql.sql_of import sql_of

SMALL = TESTDATA / "mariadb-10.11" / "small"
LOGS = ["all_types", "compressed", "savepoints_rows", "sequences", "xa"]
LOGS = [name for name in LOGS if (SMALL / f"{name}.binlog").exists()]
PLACES = {"start", "end", "position", "bytes", "file", "commit_version", "path", "events"}


def without_places(value: Any) -> Any:
    """A report without what tells where things stand, and how large events are."""
    if isinstance(value, dict):
        return {name: without_places(part) for name, part in value.items() if name not in PLACES}
    return [*map(without_places, value)] if isinstance(value, list) else value


def lines_of(*arguments: str | Path) -> list[Any]:
    ended = binx(*arguments)
    assert ended.code == ExitCode.DONE, ended.err
    return [without_places(json.loads(line)) for line in ended.lines]


@pytest.mark.parametrize(("name", "own_checksum"), [("all_types", True), *((name, False) for name in LOGS)])
def test_every_command_reads_them_as_whole_events(
    name: str, own_checksum: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SMALL / f"{name}.binlog"
    log = in_pieces(whole, tmp_path / whole.name, 40, own_checksum=own_checksum)
    for command in (
        ["extract", "--format", "json"],
        ["extract", "--format", "json", "--rows"],
        ["ls", "--json", "--columns", "gtid,kind,rows,statements,tables"],
    ):
        assert lines_of(*command, log) == lines_of(*command, whole)
    for command in (["stats", "--json"], ["stats", "--json", "--by", "statement"]):
        found, wanted = (json.loads(binx(*command, path).out) for path in (log, whole))
        counts = [
            [
                (table["table"], table["inserts"], table["updates"], table["deletes"])
                for table in report["tables"]
            ]
            for report in (found, wanted)
        ]
        assert counts[0] == counts[1] != []
    assert binx("verify", log).code == ExitCode.DONE
    shown = [
        json.dumps(without_places([json.loads(line) for line in binx("show", "--json", path).lines]))
        for path in (log, whole)
    ]
    assert "PARTIAL_ROW_DATA" not in shown[0]
    assert shown[0].count('"before"') == shown[1].count('"before"')
    exported = [binx("to-parquet", path, "-o", tmp_path / f"set-{path.parent.name}") for path in (log, whole)]
    assert [ended.code for ended in exported] == [exported[1].code] * 2
    # Larger ones wait in a file.
    monkeypatch.setattr(partial_rows, "_IN_MEMORY", 0)
    assert changes(sql_of(log)) == changes(sql_of(whole))


def changes(sql: bytes) -> list[bytes]:
    return [line for line in sql.splitlines() if not line.startswith((b"--", b"SET TIMESTAMP"))]


def test_a_slice_and_an_undo_have_the_rows(tmp_path: Path) -> None:
    whole = SMALL / "all_types.binlog"
    log = in_pieces(whole, tmp_path / "mysql-bin.000001", 100)
    for options in (["--kind", "dml"], ["--kind", "dml", "--reverse"]):
        slices = []
        for name, path in (("a", log), ("b", whole)):
            output = tmp_path / f"{name}.binlog"
            ended = binx("extract", *options, "--force", path, "-o", output)
            assert ended.code == ExitCode.DONE, ended.err
            assert binx("verify", output).code == ExitCode.DONE
            slices.append(lines_of("extract", "--format", "json", "--rows", output))
        assert [line.get("after") for line in slices[0]] == [line.get("after") for line in slices[1]] != []


def numbered(position: int, number: int, total: int | None = None) -> Pieces:
    """Give a piece another number, and perhaps another count."""

    def change(pieces: list[bytes]) -> list[bytes]:
        if len(pieces) > position:
            _, old = struct.unpack_from("<II", pieces[position])
            pieces[position] = struct.pack("<II", number, total or old) + pieces[position][8:]
        return pieces

    return change


def sized(difference: int) -> Pieces:
    """Say another size of the whole."""

    def change(pieces: list[bytes]) -> list[bytes]:
        size = int.from_bytes(pieces[0][9:17], "little") + difference
        return [pieces[0][:9] + struct.pack("<Q", size) + pieces[0][17:], *pieces[1:]]

    return change


def foreign(pieces: list[bytes]) -> list[bytes]:
    """Have the pieces hold an event of another type."""
    return [pieces[0][:21] + b"\x02" + pieces[0][22:], *pieces[1:]]


DAMAGED: dict[str, tuple[Pieces, str]] = {
    "a piece is missing": (lambda pieces: [*pieces[:1], *pieces[2:]], "expected piece 2 of"),
    "the first is missing": (lambda pieces: pieces[1:], "expected piece 1 of a rows event, found piece 2"),
    "the last is missing": (
        lambda pieces: pieces[:-1] if len(pieces) > 1 else pieces,
        "of a rows event, found",
    ),
    "a piece is there twice": (lambda pieces: [pieces[0], *pieces], "expected piece"),
    "a number is wrong": (numbered(1, 7), "expected piece 2 of"),
    "a number is 0": (numbered(0, 0), "expected piece 1 of a rows event, found piece 0"),
    "the counts differ": (numbered(1, 2, 900), "found piece 2 of 900"),
    "the whole is larger than said": (sized(-1), "expected a rows event of"),
    "the whole is smaller than said": (sized(1), "expected a rows event of"),
    "it is no rows event": (foreign, "expected a rows event in the pieces that end here, found QUERY"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_pieces_that_do_not_make_a_rows_event_are_damage(what: str, tmp_path: Path) -> None:
    changed, said = DAMAGED[what]
    log = in_pieces(SMALL / "all_types.binlog", tmp_path / "mysql-bin.000001", 60, changed=changed)
    with pytest.raises(DamagedError, match=said) as damage:
        sql_of(log)
    assert damage.value.offset
    for command, code in (
        (["verify"], ExitCode.LOSSES),
        (["stats"], ExitCode.LOSSES),
        (["to-parquet", "-o", tmp_path / "set"], ExitCode.FAILED),
        (["stats", "--on-damage", "salvage"], ExitCode.LOSSES),
    ):
        ended = binx(*command, log)
        assert ended.code == code, command
        assert said in " ".join((ended.out + ended.err).split())
