"""Slices as the servers' own readers take them, and logs that are reversed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.errors import AbsentError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.event.header import parse_header
from binx.kernels.transactions.table import FLAG_LENGTH_WRONG, Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.scanning import KIND_NAMES
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices.extraction import extract
from binx.slices.json_lines import write_json
from binx.storage.output import Sink
from binx.undo.extract_undo import extract_undo
from binx.undo.reversed_log import ReversePart, ReverseReport, write_reversed
from testdata.programs import MARIADB_HINT, MYSQL_HINT, find_mariadb, find_mysql
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.conftest import TESTDATA
from tests.dataset.current_state import (
    MARIADB,
    MYSQL,
    SHOPS,
    SMALL,
    contiguous,
    each_third,
    events_of,
    slice_of,
    transactions_of,
)
from tests.slices.sql.sql_of import everything


@pytest.fixture(scope="session")
def mysqlbinlog(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """MySQL's own reader; no server runs."""
    programs = find_mysql()
    if programs is None:
        pytest.skip(MYSQL_HINT)
    return MySQLServer(tmp_path_factory.mktemp("reader"), programs=programs)


@pytest.fixture(scope="session")
def mariadb_binlog(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """MariaDB's own reader."""
    programs = find_mariadb()
    if programs is None:
        pytest.skip(MARIADB_HINT)
    return MariaDBServer(tmp_path_factory.mktemp("reader"), programs=programs)


@pytest.fixture
def reader_for(request: pytest.FixtureRequest) -> Callable[[Path], Server]:
    """The reader of the server that wrote a file of the test data."""

    def find(path: Path) -> Server:
        name = "mariadb_binlog" if MARIADB in path.parents else "mysqlbinlog"
        reader: Server = request.getfixturevalue(name)
        return reader

    return find


_ABOUT_THE_FILE = re.compile(
    r"\t(Start: binlog|Previous-GTIDs|Gtid list|Binlog checkpoint|Rotate|Stop)", re.IGNORECASE
)
_AT_THE_END = re.compile(
    r"SET @@SESSION.GTID_NEXT= 'AUTOMATIC'|ROLLBACK /\* added by|DELIMITER ;\n# End of log file"
)
_PLACE = re.compile(r"end_log_pos \d+ ?|CRC32 0x[0-9a-f]+ ?|(?<=SQL_LOAD_MB)-\w+-\w+")


def listing(reader: Server, path: Path, *arguments: str) -> list[str]:
    """What the server's reader prints of a file's transactions, without what tells their places."""
    options = ["--verify-binlog-checksum", "-vv", "--base64-output=decode-rows", *arguments]
    options.append(f"--local-load={reader.folder.parent}")
    text = reader.mysqlbinlog(*options, path).decode(errors="backslashreplace")
    blocks = re.split(r"^# at \d+\n", text, flags=re.MULTILINE)[1:]
    kept = [block for block in blocks if block.strip() and not _ABOUT_THE_FILE.search(block)]
    return [_PLACE.sub("", _AT_THE_END.split(block)[0]).strip() for block in kept]


def without_clock(blocks: list[str]) -> list[str]:
    return [re.sub(r"last_committed=\d+\tsequence_number=\d+", "", block) for block in blocks]


# mariadb-binlog does not print rows whose times have fractions of before 10.1.
PRINTED = [path for path in SMALL if path.stem != "times_with_fractions"]


@pytest.mark.parametrize("path", [shop[2] for shop in SHOPS] + PRINTED, ids=lambda path: path.name)
def test_the_servers_reader_prints_of_a_slice_what_it_prints_of_that_part_of_the_source(
    path: Path, tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(path), tmp_path / "slice"
    transactions = transactions_of(path)
    half = len(transactions) // 2
    for first, last in ((half, half), (half // 2, half), (0, len(transactions) - 1)):
        data, report = slice_of([path], contiguous(first, last))
        target.write_bytes(data)
        assert report.renumbered == 0
        start, end = transactions[first][0], transactions[last][1]
        part = listing(reader, path, f"--start-position={start}", f"--stop-position={end}")
        assert listing(reader, target) == part


@pytest.mark.parametrize(
    "path", [SHOPS[0][1], *(path for path in SMALL if MYSQL in path.parents)], ids=lambda path: path.name
)
def test_scattered_transactions_are_what_the_servers_reader_selects_by_gtid(
    path: Path, tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(path), tmp_path / "slice"
    target.write_bytes(slice_of([path], each_third)[0])
    wanted = [gtid for _, _, gtid, _ in transactions_of(path)[1::3] if gtid is not None]
    if not wanted:
        pytest.skip("its transactions have no GTIDs to select by")
    part = listing(reader, path, f"--include-gtids={','.join(wanted)}")
    assert without_clock(listing(reader, target)) == without_clock(part)


@pytest.mark.parametrize("shop", SHOPS, ids=["mysql", "mariadb"])
def test_a_chain_becomes_one_slice_that_says_what_its_files_say_in_turn(
    shop: list[Path], tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(shop[0]), tmp_path / "slice"
    target.write_bytes(slice_of(shop)[0])
    rows = re.compile(r"^###.*$|^GTID .*$", re.MULTILINE)

    def essence(path: Path) -> list[str]:
        return [line for block in without_clock(listing(reader, path)) for line in rows.findall(block)]

    assert essence(target) == [line for path in shop for line in essence(path)]


def test_a_file_in_use_gives_a_slice_that_is_closed(
    tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    path, target = MYSQL / "in-use" / "mysql-bin.000001", tmp_path / "slice"
    assert parse_header(path.read_bytes(), 4).flags & 1
    data, _ = slice_of([path])
    target.write_bytes(data)
    assert not parse_header(data, 4).flags & 1
    assert not any("not closed properly" in block for block in listing(reader_for(path), target))


@pytest.mark.parametrize("flavour", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
@pytest.mark.parametrize("names", [("no_checksum", "rollback"), ("rollback", "no_checksum")])
def test_files_that_differ_by_checksum_are_joined_under_the_first_ones(
    flavour: Path, names: tuple[str, str], tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    paths, target = [flavour / "small" / f"{name}.binlog" for name in names], tmp_path / "slice"
    target.write_bytes(slice_of(paths)[0])
    events_of(target.read_bytes(), 0 if names[0] == "no_checksum" else 4)
    assert not any(found[3] & FLAG_LENGTH_WRONG for found in transactions_of(target))
    assert [f[:3] for f in transactions_of(target)] == [
        f[:3] for f in transactions_of(target, Level.LEVEL_INDEX)
    ]
    reader, rows = reader_for(paths[0]), re.compile(r"^###.*$", re.MULTILINE)

    # Both files count their GTIDs from 1, which MariaDB's reader takes ill in a file's middle.
    options = [] if flavour is MYSQL else ["--skip-gtid-strict-mode"]

    def changes(path: Path) -> list[str]:
        return [line for block in listing(reader, path, *options) for line in rows.findall(block)]

    assert changes(target) == changes(paths[0]) + changes(paths[1])


LOGS = [
    TESTDATA / server / "small" / f"{name}.binlog"
    for server in ("mysql-9.7", "mariadb-10.11")
    for name in ("all_types", "charsets", "compressed", "no_checksum")
    if (server, name) != ("mariadb-10.11", "compressed")
]
OPPOSITE = {"insert": "delete", "delete": "insert", "update": "update"}


def reverse(path: Path, output: Sink, wanted: Callable[[TransactionTable, int], bool]) -> ReverseReport:
    """Write what undoes some transactions of a log."""
    with BinlogFile.open(str(path)) as file:
        tables = Scan(file, Level.LEVEL_TABLES)
        marks = ((table, [i for i in range(len(table)) if wanted(table, i)]) for table in tables)
        return write_reversed((ReversePart(file, table, indexes, {}) for table, indexes in marks), output)


def row_changes(table: TransactionTable, index: int) -> bool:
    dml = KIND_NAMES[Kind(table.value("kind", index))] == "dml"
    return dml and bool(table.value("rows", index)) and not table.value("statements", index)


def changes_of(path: Path, tables: Path) -> list[dict[str, Any]]:
    """The row changes of a log, with the names that another log tells."""
    catalog = Catalog()
    write_json(everything([tables]), io.BytesIO(), catalog, rows=True)
    output = io.BytesIO()
    write_json(everything([path]), output, catalog, rows=True)
    return [json.loads(line) for line in output.getvalue().splitlines()]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_changes_are_swapped_and_turned_round_and_twice_they_are_as_they_were(
    path: Path, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.binlog", tmp_path / "twice.binlog"
    with once.open("wb") as output:
        report = reverse(path, output, row_changes)
    assert report.undone
    with twice.open("wb") as output:
        reverse(once, output, row_changes)
    undoing, again = changes_of(once, path), changes_of(twice, path)
    assert undoing
    assert [
        (OPPOSITE[change["type"]], change.get("after"), change.get("before")) for change in reversed(undoing)
    ] == [(change["type"], change.get("before"), change.get("after")) for change in again]
    forwards = [
        (change["db"], change["table"], change["type"], change.get("before"), change.get("after"))
        for change in changes_of(path, path)
    ]
    found = [
        (change["db"], change["table"], change["type"], change.get("before"), change.get("after"))
        for change in again
    ]
    assert [change for change in forwards if change in found] == found


def test_the_definition_says_the_bytes_of_times_that_the_log_does_not(tmp_path: Path) -> None:
    log = TESTDATA / "mariadb-10.11" / "small" / "times_with_fractions.binlog"
    # Up to the log's only UPDATE, as an ALTER TABLE after it gives these columns other sizes.
    earlier, undoing = tmp_path / "earlier.binlog", tmp_path / "undo.binlog"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(gtids=GtidSet.parse("0-10-1..5")), str(earlier))
    with open_chain([str(earlier)]) as chain:
        extract_undo(chain, Selection(gtids=GtidSet.parse("0-10-5")), str(undoing))
    definition = tmp_path / "definition.binlog"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(gtids=GtidSet.parse("0-10-1..2")), str(definition))
    (change,) = changes_of(undoing, definition)
    assert change["before"]["c"] == "00:00:00.01"
    assert change["after"]["c"] == "-12:34:56.78"
    assert change["after"]["b"] == "2021-02-03 04:05:06.789012"


def test_generated_columns_need_not_be_logged(tmp_path: Path) -> None:
    """MariaDB 11.8 logs them with inserts only; servers compute them again."""
    log = TESTDATA / "mariadb-11.8" / "small" / "generated.binlog"
    undoing = tmp_path / "undo.binlog"
    with open_chain([str(log)]) as chain:
        extract_undo(chain, Selection(gtids=GtidSet.parse("0-10-4..7")), str(undoing))
    gtids = {f"0-10-{number}" for number in range(4, 8)}
    done = [change for change in changes_of(log, log) if change["transaction"] in gtids]
    assert [change["type"] for change in done] == ["update", "update", "delete", "update"]
    assert [
        (OPPOSITE[change["type"]], change.get("after"), change.get("before"))
        for change in reversed(changes_of(undoing, log))
    ] == [(change["type"], change.get("before"), change.get("after")) for change in done]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("row_image_minimal", "whose images lack columns (binlog_row_image was not FULL)"),
        ("partial_json", "that may have parts of JSON documents only (binlog_row_value_options)"),
    ],
)
def test_images_that_lack_something_and_statements_are_refused(name: str, reason: str) -> None:
    path = TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog"
    output = io.BytesIO()
    with pytest.raises(RefusedError) as caught:
        reverse(path, output, lambda table, index: True)
    assert "transactions of kind ddl: " in str(caught.value)
    assert reason in str(caught.value)
    assert output.getvalue() == b""


def test_nothing_to_undo_is_no_log() -> None:
    path = TESTDATA / "mysql-9.7" / "small" / "all_types.binlog"
    with pytest.raises(AbsentError, match="none of the requested transactions has row changes"):
        reverse(path, io.BytesIO(), lambda table, index: False)
