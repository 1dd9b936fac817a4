"""Transactions as ``thl list`` prints them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices.extract import ExtractOptions, SliceFormat, extract
from binx.slices.json_lines import write_json
from binx.slices.search import Search
from binx.slices.thl import write_thl
from tests.conftest import TESTDATA
from tests.slices.make_thl import CASES, golden, listing
from tests.stats.logs import Statement, log_of

HEAD = re.compile(
    r"SEQ# = (\d+) / FRAG# = (\d+)( \(last frag\))?\n"
    r"- TIME = (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6})\n"
    r"- EPOCH# = (\d+)\n"
    r"- EVENTID = (.+):(\d{16})(?:;(\d+))?\n"
    r"- SOURCEID = (\d+)\n"
    r"- METADATA = \[(mysql_server_id=\d+;dbms_type=mysql;.*)\]\n"
    r"- TYPE = com\.continuent\.tungsten\.replicator\.event\.ReplDBMSEvent\n"
)
LOGS = [*sorted(TESTDATA.glob("*/small/*.binlog")), TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"]
SHOP = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"


@pytest.mark.parametrize("name", CASES)
def test_a_listing_is_the_one_that_was_looked_through(name: str) -> None:
    assert listing(TESTDATA / name, CASES[name]) == golden(name).read_text("utf-8")


def documents(path: Path) -> list[dict[str, Any]]:
    output = io.BytesIO()
    with BinlogFile.open(str(path)) as file:
        write_json(Search([read_ends(file)], Selection()).selected(), output, Catalog())
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_heads_tell_the_transactions() -> None:
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


def test_rows_have_the_values_before_as_keys_and_after_as_columns() -> None:
    actions = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
    expected = []
    for one in documents(SHOP):
        for change in one["changes"]:
            expected.append(
                (
                    actions[change["type"]],
                    change["table"],
                    list(change.get("after") or ()),
                    list(change.get("before") or ()),
                )
            )
    found: list[tuple[str, str, list[str], list[str]]] = []
    numbers: dict[tuple[str, str], set[str]] = {}
    action = table = ""
    for line in listing(SHOP).splitlines():
        if line.startswith(" - ACTION = "):
            action = line.rpartition(" ")[2]
        elif line.startswith(" - TABLE = "):
            table = line.rpartition(" ")[2]
        elif line.startswith(" - ROW# = "):
            found.append((action, table, [], []))
        elif match := re.match(r"  - (COL|KEY)\((\d+): (.+?)\) = ", line):
            columns, keys = found[-1][2:]
            (columns if match[1] == "COL" else keys).append(match[3])
            numbers.setdefault((table, match[3]), set()).add(match[2])
    assert found == expected
    # A column keeps its place in the table, whatever columns an image lacks.
    assert all(len(places) == 1 for places in numbers.values())


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
        write_thl(Search([read_ends(file)], Selection()).selected(), output, Catalog())
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
        chain = [read_ends(file)]
        report = extract(
            chain, Selection(limit=3), str(output), ExtractOptions(format=SliceFormat.THL, fragment_bytes=10)
        )
    assert report.transactions == 3
    assert report.bytes == output.stat().st_size
    assert {sequence for sequence, *_ in fragments(output.read_text("utf-8"))} == {1, 2, 3}
