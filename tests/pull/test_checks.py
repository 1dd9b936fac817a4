"""Nothing damaged passes the checks, and they know where a log is whole."""

from __future__ import annotations

import os
import random

import pytest

from binx.errors import BinxError, DamagedError, RefusedError
from binx.event.format import MAGIC_SIZE, parse_format
from binx.event.gtid.sets import GtidSet
from binx.pull.checks import LargeEvent, LogChecks
from tests.conftest import TESTDATA
from tests.pull.wire import event, events_of

EVERY_BIT = bool(os.environ.get("BINX_EVERY_BIT"))
LOGS = (
    "mysql-9.7/shop/mysql-bin.000002",
    "mariadb-10.11/shop/mysql-bin.000002",
)


def read(name: str) -> tuple[bytes, LogChecks]:
    log = (TESTDATA / name).read_bytes()
    first = next(events_of(log))
    begin = MAGIC_SIZE + len(first)
    return log, LogChecks(name, parse_format(log, MAGIC_SIZE), begin)


def fed(log: bytes, checks: LogChecks, piece: int = 1 << 30) -> int:
    """Where the checks have come to with a log that arrives in pieces."""
    end = checks.position
    while end < len(log):
        end = min(end + piece, len(log))
        checks.feed(memoryview(log)[checks.position : end])
    return checks.position


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("piece", [100, 5000, 1 << 30])
def test_a_log_passes_in_any_pieces(name: str, piece: int) -> None:
    log, checks = read(name)
    assert fed(log, checks, piece) == len(log) == checks.whole
    assert checks.is_closed
    assert checks.last is not None
    assert checks.gtids().count > 0
    assert checks.listed is not None


@pytest.mark.parametrize("name", LOGS)
def test_no_changed_bit_passes(name: str) -> None:
    log, checks = read(name)
    begin = checks.position
    bits = range(8 * begin, 8 * len(log))
    for bit in bits if EVERY_BIT else random.Random(name).sample(bits, 300):
        damaged = bytearray(log)
        damaged[bit // 8] ^= 1 << bit % 8
        again = LogChecks(name, checks.description, begin)
        try:
            end = fed(bytes(damaged), again, 4096)
        except BinxError:
            end = again.position
        assert end <= bit // 8


def test_a_transaction_is_whole_only_at_its_end() -> None:
    log, checks = read(LOGS[0])
    wholes = set()
    for one in list(events_of(log))[1:]:
        checks.feed(memoryview(one))
        wholes.add(checks.whole)
        assert checks.whole == checks.position or one[4] not in (16, 4)
    assert len(wholes) < checks.position / 100


def test_an_event_in_another_place_is_damage() -> None:
    log, checks = read(LOGS[0])
    events = list(events_of(log))
    with pytest.raises(DamagedError, match="tells its own place"):
        checks.feed(memoryview(b"".join([events[1], *events[40:]])))


def test_a_large_event_is_checked_in_pieces() -> None:
    log, checks = read(LOGS[0])
    events = list(events_of(log))
    checks.feed(memoryview(events[1]))
    begin = checks.position
    body = random.Random(1).randbytes(300_000)
    large = event(29, body, begin + 19 + len(body) + 4, flags=0x80)
    for damage in (None, 20, 299_000):
        changed = bytearray(large)
        if damage is not None:
            changed[damage] ^= 4
        one = LogChecks("log", checks.description, begin)
        taking, at = LargeEvent(one), 0
        while at < len(changed):
            at += taking.take(memoryview(changed)[at : at + 100_000])
        if damage is None:
            assert taking.end()
            assert one.position == begin + len(large)
        else:
            with pytest.raises(DamagedError, match="stored checksum"):
                taking.end()
            assert one.position == begin


def test_a_log_must_list_what_was_pulled_before() -> None:
    log, checks = read(LOGS[0])
    fed(log, checks)
    assert checks.listed is not None
    checks.follow(checks.listed)
    with pytest.raises(RefusedError, match="--new-chain"):
        checks.follow(checks.listed | GtidSet.parse("00000000-0000-0000-0000-000000000001:7"))


def test_a_gtid_that_comes_twice_is_damage() -> None:
    log, checks = read(LOGS[0])
    fed(log, checks)
    checks._runs = [*checks._runs, *checks._runs[:1]]
    with pytest.raises(DamagedError, match="once"):
        checks.gtids()
