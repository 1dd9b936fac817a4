"""JSON and THL out of binary logs: the values that the server's SELECT gave."""

from __future__ import annotations

import io
import json
import math
import re
import struct
from base64 import b64decode
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.selection.selection import Selection
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.slices.extraction import extract
from binx.slices.json_lines import write_json
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.search import Search
from binx.slices.thl import write_thl
from binx.sql.values import JsonValues
from tests.conftest import SERVERS, TESTDATA
from tests.slices.make_thl import CASES, golden, listing
from tests.slices.spelled import texts_of
from tests.slices.sql.sql_of import json_of
from tests.stats.logs import Statement, log_of

LOGS = [
    "all_types",
    "all_types_minimal_metadata",
    "all_types_no_metadata",
    "charsets",
    "partitions",
    "enum_of_300",
]
SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
VALUES = [path for path in SMALL if path.stem in LOGS]
BINARY = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
SPATIAL = {
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
}  # fmt: skip


def name_of(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


def lines(text: bytes) -> list[dict[str, Any]]:
    """The objects, numbers with a point as their text."""
    return [json.loads(line, parse_float=str) for line in text.splitlines()]


def as_selected(value: Any, column: dict[str, Any]) -> Any:
    """A JSON value as the golden files have what SELECT gave."""
    base = column["type"].split("(")[0].split(" ")[0]
    if value is None:
        return None
    if base in BINARY:
        return b64decode(value).hex()
    if base in SPATIAL:
        return struct.pack("<I", value["srid"]).hex() + b64decode(value["wkb"]).hex()
    if base == "vector":
        return b"".join(struct.pack("<f", float(number)) for number in value).hex()
    if base == "timestamp" and value.endswith("Z"):
        return value.replace("T", " ").removesuffix("Z")
    if base == "bit":
        return str(int(value))
    if base == "year":
        return f"{value:04d}"
    return value if isinstance(value, str) else str(value)


def alike(found: Any, expected: Any, column: dict[str, Any]) -> bool:
    """Whether a value is the one that SELECT gave, in whatever digits."""
    base = column["type"].split("(")[0].split(" ")[0]
    if base == "json" and expected == "null":
        return found is None
    if found is None or expected is None:
        return found is expected
    if column["charset"] == "eucjpms" and "\\x" in found:
        return True
    if base == "json" or (base == "longtext" and not isinstance(found, str)):
        return bool(found == json.loads(expected, parse_float=str)) or loosely(found) == loosely(
            json.loads(expected)
        )
    found = as_selected(found, column)
    if base == "float":
        return struct.pack("<f", float(found)) == struct.pack("<f", float(expected))
    if base in {"double", "decimal"}:
        return Decimal(found) == Decimal(expected)
    return bool(found == expected)


def loosely(value: Any) -> Any:
    """Numbers as floats, however they were written."""
    if isinstance(value, dict):
        return {name: loosely(member) for name, member in value.items()}
    if isinstance(value, list):
        return [loosely(member) for member in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def inserted(path: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Rows by table and by the text of their first column, as the lines of the changes lead to them."""
    tables: dict[str, Any] = {}
    for line in lines(json_of(path, rows=True)):
        table = tables.setdefault(f"{line['db']}.{line['table']}", {})
        if "before" in line:
            table.pop(str(next(iter(line["before"].values()))))
        if "after" in line:
            table[str(next(iter(line["after"].values())))] = line["after"]
    return tables


@pytest.mark.parametrize("path", VALUES, ids=name_of)
def test_values_are_those_of_select(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    tables = inserted(path)
    compared = 0
    for name, table in expected["tables"].items():
        columns = table["columns"]
        if table["primary_key"] != [columns[0]["name"]]:
            continue
        rows = tables.get(name, {})
        assert len(rows) == len(table["rows"])
        for row in table["rows"]:
            found = rows[str(row[0])]
            for column, value in zip(columns, row, strict=True):
                assert alike(found[column["name"]], value, column), (name, column["name"], value)
                compared += 1
    assert compared > 0


@pytest.mark.parametrize("server", SERVERS)
def test_a_line_a_transaction_and_a_line_a_change_hold_the_same(server: str) -> None:
    files = sorted((TESTDATA / server / "shop").glob("mysql-bin.0*"))
    whole, rows = lines(json_of(*files)), lines(json_of(*files, rows=True))
    facts = ("transaction", "commit_version")
    members = [
        {fact: line[fact] for fact in facts} | change
        for line in whole
        if line["kind"] != "rollback"
        for change in line["changes"]
    ]
    times = [{name: value for name, value in row.items() if name != "commit_timestamp"} for row in rows]
    assert members == times
    for line in whole:
        assert [change["row"] for change in line["changes"]] == list(range(line["rows"]))


@pytest.mark.parametrize("server", SERVERS)
def test_the_counts_per_table_are_those_of_the_servers_reader(server: str) -> None:
    folder = TESTDATA / server / "shop"
    expected = json.loads((folder / "expected" / "files.json").read_text())
    for file, facts in expected["files"].items():
        found = lines(json_of(folder / file))
        assert len(found) == facts["transactions"]
        counts: dict[str, dict[str, int]] = {}
        for line in found:
            for change in line["changes"]:
                name = f"{change['db']}.{change['table']}"
                counts.setdefault(name, dict.fromkeys(("inserts", "updates", "deletes"), 0))[
                    f"{change['type']}s"
                ] += 1
        assert counts == facts["tables"]


def test_a_statement_stands_with_its_session_in_the_transaction_that_it_is_of() -> None:
    found = lines(json_of(TESTDATA / "mysql-9.7" / "small" / "statements.binlog"))
    statements = [statement for line in found for statement in line["sql_statements"]]
    assert statements[0]["sql"] == "CREATE DATABASE small"
    assert any(statement["event_timestamp"] == "2026-03-02T08:00:00.654321Z" for statement in statements)
    assert any(statement["options"].get("time_zone") == "+05:30" for statement in statements)


def test_an_absent_column_is_not_null() -> None:
    found = lines(json_of(TESTDATA / "mysql-9.7" / "small" / "row_image_minimal.binlog", rows=True))
    updates = [line for line in found if line["type"] == "update"]
    assert any("id" not in line["after"] for line in updates)
    assert any(value is None for line in found for value in line.get("after", {}).values())


def test_a_document_logged_in_part_is_whole_or_has_its_operations() -> None:
    found = lines(json_of(TESTDATA / "mysql-9.7" / "small" / "partial_json.binlog", rows=True))
    updates = [line for line in found if line["type"] == "update"]
    assert "json_diff" not in updates[0]
    assert {**updates[0]["before"]["a"], "name": "Bo"} == updates[0]["after"]["a"]
    first = next(line for line in found if "json_diff" in line)
    assert first["json_diff"]["a"] == [{"op": "replace", "path": "$.name", "value": "M"}]
    assert "a" not in first["after"]
    assert "a" not in first["before"]


def json_texts(array: pa.Array, logical: LogicalType) -> list[bytes]:
    return texts_of(JsonValues().spelled(array, logical), len(array))


@given(st.lists(st.none() | st.text(), min_size=1))
def test_text_is_read_back(values: list[str | None]) -> None:
    texts = json_texts(pa.array(values, pa.string()), LogicalType(Kind.TEXT, "text", charset="utf8mb4"))
    assert [json.loads(text) for text in texts] == values
    assert not any(b"\n" in text for text in texts)


@given(st.lists(st.floats(width=32), min_size=1))
def test_floats_are_numbers_and_what_is_none_is_a_string(values: list[float]) -> None:
    texts = json_texts(pa.array(values, pa.float32()), LogicalType(Kind.FLOAT32, "float"))
    for text, value in zip(texts, values, strict=True):
        read = json.loads(text, parse_constant=pytest.fail)
        assert isinstance(read, str) is not math.isfinite(value)
        if math.isnan(value):
            assert math.isnan(float(read))
        else:
            assert struct.pack("<f", float(read)) == struct.pack("<f", value)


HEAD = re.compile(
    r"SEQ# = (\d+) / FRAG# = (\d+)( \(last frag\))?\n"
    r"- TIME = (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6})\n"
    r"- EPOCH# = (\d+)\n"
    r"- EVENTID = (.+):(\d{16})(?:;(\d+))?\n"
    r"- SOURCEID = (\d+)\n"
    r"- METADATA = \[(mysql_server_id=\d+;dbms_type=mysql;.*)\]\n"
    r"- TYPE = com\.continuent\.tungsten\.replicator\.event\.ReplDBMSEvent\n"
)
SHOP = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"


@pytest.mark.parametrize("name", CASES)
def test_a_listing_is_the_one_that_was_looked_through(name: str) -> None:
    assert listing(TESTDATA / name, CASES[name]) == golden(name).read_text("utf-8")


def documents(path: Path) -> list[dict[str, Any]]:
    output = io.BytesIO()
    with BinlogFile.open(str(path)) as file:
        write_json(Search([ChainLog.of(file)], Selection()).selected(), output, Catalog())
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_heads_name_the_transactions() -> None:
    heads = HEAD.findall(listing(SHOP))
    expected = documents(SHOP)
    assert len(heads) == len(expected)
    for head, one in zip(heads, expected, strict=True):
        sequence, fragment, last, time, epoch, file, position, thread, source, metadata = head
        assert (int(sequence), fragment, last) == (one["seqno"], "0", " (last frag)")
        assert time.rstrip("0").rstrip(".") == one["commit_timestamp"].rstrip("Z").replace("T", " ").rstrip(
            "0"
        )
        assert (int(epoch), file, int(position)) == (one["epoch"], one["file"], one["end"])
        assert (int(thread), int(source)) == (one["thread_id"], one["server_id"])
        assert f";gtid={one['gtid']};" in metadata


def fragments(text: str) -> list[tuple[int, int, bool, str]]:
    parts = HEAD.split(text)[1:]
    return [
        (int(parts[at]), int(parts[at + 1]), bool(parts[at + 2]), parts[at + 10])
        for at in range(0, len(parts), 11)
    ]


@pytest.mark.parametrize(("size", "cuts"), [(1, True), (500, True), (50_000, False)])
def test_fragments_hold_together_what_the_whole_holds(size: int, cuts: bool) -> None:
    whole = fragments(listing(SHOP))
    cut = fragments(listing(SHOP, size))
    assert all(last for _, _, last, _ in whole)
    assert (len(cut) > len(whole)) == cuts
    for sequence, _, _, text in whole:
        own = [one for one in cut if one[0] == sequence]
        assert [number for _, number, _, _ in own] == list(range(len(own)))
        assert [last for _, _, last, _ in own] == [False] * (len(own) - 1) + [True]
        rows = [line for line in text.splitlines() if line.startswith("  - ")]
        assert [line for *_, one in own for line in one.splitlines() if line.startswith("  - ")] == rows


def test_an_empty_transaction_says_so() -> None:
    with log_of([Statement(sql="BEGIN"), Statement(sql="COMMIT")]) as file:
        output = io.BytesIO()
        write_thl(Search([ChainLog.of(file)], Selection()).selected(), output, Catalog())
    assert (
        output.getvalue()
        .decode()
        .endswith(
            "- TYPE = " + "com.continuent.tungsten.replicator.event.ReplDBMSEvent" + "\n## Empty event ##\n"
        )
    )


def test_extract_writes_it(tmp_path: Path) -> None:
    output = tmp_path / "shop.thl"
    with BinlogFile.open(str(SHOP)) as file:
        chain = [ChainLog.of(file)]
        report = extract(
            chain, Selection(limit=3), str(output), ExtractOptions(format=SliceFormat.THL, fragment_bytes=10)
        )
    assert report.transactions == 3
    assert report.bytes == output.stat().st_size
    assert {sequence for sequence, *_ in fragments(output.read_text("utf-8"))} == {1, 2, 3}
