"""Sessions of statements: the kernel finds damage where the reader of events does, and nowhere else."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.event.header import HEADER_SIZE, EventHeader, parse_header
from binx.event.query import parse_query
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from tests.conftest import TESTDATA
from tests.log import building

HEAD = struct.Struct("<IIBHH")
NAME = b"shop\0"


def query(variables: bytes, name: bytes = NAME) -> bytes:
    head = HEAD.pack(3, 0, 4, 0, len(variables))
    return building.event(2, head + variables + name + b"DROP TABLE t")


def bad_sessions(*events: bytes) -> tuple[int, int]:
    scan = building.scanner(Level.LEVEL_TABLES)
    scan.checks_sessions = True
    building.feed(scan, *events)
    return scan.bad_sessions, scan.first_bad_session


def is_read(event: bytes) -> bool:
    header: EventHeader = parse_header(memoryview(event), 0, origin=0)
    with BinlogFile.open(str(TESTDATA / "mysql-9.7" / "small" / "no_checksum.binlog")) as file:
        try:
            parse_query(memoryview(event)[HEADER_SIZE:], header, file.format)
        except DamagedError:
            return False
    return True


CODES = [*range(22), *range(128, 132)]

VARIABLE = st.tuples(st.sampled_from([*CODES, 22, 99, 127, 132, 254, 255]), st.binary(max_size=24)).map(
    lambda one: bytes([one[0]]) + one[1]
)


@given(st.lists(VARIABLE, max_size=6).map(b"".join), st.sampled_from([NAME, b"shopx", b"a\0b\0\0"]))
def test_what_is_damage_to_the_reader_of_events_is_damage_here(variables: bytes, name: bytes) -> None:
    event = query(variables, name)
    bad, _ = bad_sessions(building.gtid(1), event)
    assert (bad == 0) == is_read(event)


@pytest.mark.parametrize("code", CODES)
def test_every_variable_is_known_and_may_not_be_cut(code: int) -> None:
    assert bad_sessions(building.gtid(1), query(bytes([code])))[0] == 1


def test_the_first_one_is_told_by_the_place_of_its_event_and_all_are_counted() -> None:
    whole, cut = query(b"\x0d\1\2\3"), query(b"\x0d\1\2")
    events = [building.gtid(1), whole, building.gtid(2), cut, building.gtid(3), cut]
    assert bad_sessions(*events) == (2, building.FIRST + len(b"".join(events[:3])))
