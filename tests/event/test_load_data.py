"""LOAD DATA under statement-based logging."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.event.header import EventType, parse_header
from binx.event.parse import parse_event
from binx.event.query import DeleteFile, DuplicateHandling, ExecuteLoadQuery, LoadBlock
from tests.event import samples
from tests.event.reading import MYSQL, read, split


def test_the_file_stands_in_the_log() -> None:
    found = read(samples.BEGIN_LOAD_QUERY)
    assert isinstance(found, LoadBlock)
    assert found.file_id == 1
    assert bytes(found.data) == b"loaded one\nloaded two\n"


def test_the_statement_says_where_its_file_name_is() -> None:
    found = read(samples.EXECUTE_LOAD_QUERY)
    assert isinstance(found, ExecuteLoadQuery)
    assert found.file_id == 1
    assert found.query.database == "shop"
    assert found.query.text.startswith("LOAD DATA LOCAL INFILE '/tmp/ev/load.csv' IGNORE INTO TABLE")
    cut = found.query.sql[found.file_name_start : found.file_name_end]
    assert cut == b" LOCAL INFILE '/tmp/ev/load.csv' IGNORE INTO"
    assert found.duplicates is DuplicateHandling.IGNORE


def test_delete_file_names_its_file() -> None:
    header = parse_header(samples.XID[:4] + bytes([EventType.DELETE_FILE]) + samples.XID[5:], 0)
    assert parse_event(memoryview(bytes([7, 0, 0, 0])), header, MYSQL) == DeleteFile(7)


@pytest.mark.parametrize(
    ("place", "words"), [(17, "expected the file's name within"), (25, "duplicate keys")]
)
def test_what_the_statement_cannot_hold_is_damage(place: int, words: str) -> None:
    header, body = split(samples.EXECUTE_LOAD_QUERY)
    changed = bytearray(body)
    changed[place] = 0xFF
    with pytest.raises(DamagedError, match=words):
        parse_event(memoryview(changed), header, MYSQL)
