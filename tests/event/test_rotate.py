"""How files end."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.event.header import EventType, parse_header
from binx.event.parse import parse_event
from binx.event.replication import Rotate, Stop
from tests.event import samples
from tests.event.reading import MYSQL, read, split


def test_rotate_names_the_next_file() -> None:
    assert read(samples.ROTATE) == Rotate("mysql-bin.000002", 4)


def test_rotate_without_a_name_is_damage() -> None:
    header, body = split(samples.ROTATE)
    with pytest.raises(DamagedError, match="expected the next file's name"):
        parse_event(body[:8], header, MYSQL)


def test_stop_says_nothing_more() -> None:
    stop = samples.XID[:4] + bytes([EventType.STOP]) + samples.XID[5:]
    assert parse_event(memoryview(b""), parse_header(stop, 0), MYSQL) == Stop()
