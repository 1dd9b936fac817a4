"""Transactions event by event: their events, their rows, their bytes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE
from binx.inspect.event_fields import hex_lines
from binx.inspect.show import Showing, ShownEvent, ShownTransaction
from binx.log.chain.ends import FileEnds, read_ends
from binx.log.chain.inputs import open_chain
from binx.log.events import RawEvent
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices import rendering
from binx.slices.json_lines import write_json
from binx.slices.search import Search
from tests.conftest import TESTDATA

LOGS = sorted(TESTDATA.glob("*/small/*.binlog"))
CHANGE = re.compile(rb"^### (?:INSERT INTO|UPDATE|DELETE FROM) `", re.MULTILINE)


def name_of(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


class Kept(NamedTuple):
    """An event with its rows."""

    raw: RawEvent
    row_count: int | None
    rows: list[dict[str, Any]]


@pytest.fixture(params=LOGS, ids=name_of)
def chain(request: pytest.FixtureRequest) -> Iterator[list[FileEnds]]:
    with BinlogFile.open(str(request.param)) as file:
        yield [read_ends(file)]


def shown(chain: list[FileEnds], selection: Selection | None = None, **options: Any) -> list[Any]:
    """Transactions, and events with their rows, taken at once as the next event's come in their place."""
    items: list[Any] = []
    for item in Showing(chain, selection or Selection(), **options):
        if isinstance(item, ShownEvent):
            items.append(Kept(item.raw, item.row_count, list(item.rows)))
        else:
            items.append(item)
    return items


def test_events_of_transactions_fill_their_places(chain: list[FileEnds]) -> None:
    ends: list[int] = []
    for item in shown(chain):
        if isinstance(item, ShownTransaction):
            ends.append(item.facts["start"])
        elif item.raw.inner is None:
            assert item.raw.header.position == ends[-1]
            ends[-1] = item.raw.header.end
            assert len(item.raw.data) == item.raw.header.size
    assert ends == [item.facts["end"] for item in shown(chain) if isinstance(item, ShownTransaction)]


def test_rows_are_those_of_json_and_as_many_as_the_servers_reader_prints(chain: list[FileEnds]) -> None:
    rows = []
    for item in shown(chain):
        if isinstance(item, Kept):
            own = list(item.rows)
            assert len(own) == (item.row_count or 0)
            rows += own
    printed = Path(chain[0].file.path).with_suffix(".txt").read_bytes()
    unprintable = 2 if chain[0].file.name.startswith("all_types") and b"9.7" in printed else 0
    if chain[0].file.name.startswith("times_with_fractions"):
        # MariaDB's prints none of times with fractions of before 10.1, of which it does not know the bytes.
        unprintable = len(rows)
    # The reader of MySQL 9.7 prints no rows of tables with a VECTOR column.
    assert len(rows) - len(CHANGE.findall(printed)) == unprintable
    output = io.BytesIO()
    write_json(Search(chain, Selection()).selected(), output, Catalog(), rows=True)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    if "savepoints" in chain[0].file.name or "rollback" in chain[0].file.name:
        # What was undone is no change, and stands in the log.
        assert len(lines) <= len(rows)
    else:
        assert rows == [
            {key: one[key] for key in one if not key.startswith(("trans", "commit_"))} for one in lines
        ]


def test_a_transaction_that_its_log_names_is_shown_without_the_files_before(testdata: Path) -> None:
    demo = json.loads((testdata / "mysql-9.7" / "shop" / "demo.json").read_text())
    paths = sorted((testdata / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
    files = [BinlogFile.open(str(path)) for path in paths]
    showing = Showing([read_ends(file) for file in files], Selection(gtids=GtidSet.parse(demo["gtid"])))
    first, *events = list(showing)
    assert isinstance(first, ShownTransaction)
    assert first.facts["gtid"] == demo["gtid"]
    counts = [item.row_count or 0 for item in events if isinstance(item, ShownEvent)]
    assert sum(counts) == sum(sum(kinds.values()) for kinds in demo["tables"].values())
    assert showing.search.passed_over > 0


def test_rows_that_nobody_takes_are_passed_over(chain: list[FileEnds]) -> None:
    names = [item.raw.header.name for item in Showing(chain, Selection()) if isinstance(item, ShownEvent)]
    assert names == [item.raw.header.name for item in shown(chain) if isinstance(item, Kept)]


@pytest.mark.parametrize("copied", [1, 7, 100])
def test_rows_are_whole_however_they_are_copied(
    testdata: Path, monkeypatch: pytest.MonkeyPatch, copied: int
) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        chain = [read_ends(file)]
        expected = [list(item.rows) for item in shown(chain) if isinstance(item, Kept)]
        monkeypatch.setattr(rendering, "CHUNK_BYTES", copied)
        assert [list(item.rows) for item in shown(chain) if isinstance(item, Kept)] == expected


def test_bytes_are_told_from_text_where_that_is_wanted(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        items = shown([read_ends(file)], readable=True)
    rows = [row for item in items if isinstance(item, Kept) for row in item.rows]
    updated = next(row for row in rows if row["table"] == "other" and row["type"] == "update")
    assert updated["before"]["data"]["hex"].startswith("00ff00ff")
    assert updated["after"]["data"] == {"hex": "01"}


def test_a_dump_has_every_byte_once_and_judges_the_checksum(chain: list[FileEnds]) -> None:
    size = chain[0].file.format.checksum_size
    for item in shown(chain):
        if isinstance(item, Kept):
            own = size if item.raw.inner is None else 0
            lines = list(hex_lines(item.raw.header, item.raw.data, own))
            assert b"".join(line.data for line in lines) == bytes(item.raw.data)
            assert all(
                line.offset == sum(len(one.data) for one in lines[:number])
                for number, line in enumerate(lines)
            )
            assert (lines[-1].meaning.endswith(", right")) == bool(own)


def test_a_wrong_checksum_is_called_so(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        event = next(item for item in shown([read_ends(file)]) if isinstance(item, Kept))
    data = bytearray(event.raw.data)
    data[HEADER_SIZE] ^= 1
    *_, last = hex_lines(event.raw.header, memoryview(data), 4)
    assert "WRONG" in last.meaning


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_transactions_that_go_on_in_the_next_relay_log_are_shown_whole(server: str) -> None:
    with open_chain([str(TESTDATA / server / "relay" / "relay-bin.index")]) as chain:
        rows = [row for item in shown(chain) if isinstance(item, Kept) for row in item.rows]
        output = io.BytesIO()
        write_json(Search(chain, Selection()).selected(), output, Catalog(), rows=True)
    assert len(rows) == len(output.getvalue().splitlines()) > 0
