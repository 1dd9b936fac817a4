"""Command lines that cannot be understood: exit code 2, and a word on what may have been meant."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extrct"], "No such command 'extrct'"),
        (["to-parqet", "x"], "to-parquet"),
        (["zzz"], "No such command 'zzz'"),
        (["--verison"], "--version"),
        (["extract", "--gtdi", "x", "f"], "--gtid"),
        (["ls", "--sotr", "bytes", "f"], "--sort"),
        (["ls", "--sort", "colour", "f"], "expected one of log, bytes, rows, time, duration, size"),
        (["ls", "--sort", "log:desc", "f"], "log order has no direction"),
        (["ls", "--columns", "time,colour", "f"], "found 'colour'"),
        (["ls", "--tz", "Mars", "f"], "expected a time zone such as UTC"),
        (["ls"], "FILE"),
        (["ls", ""], "expected a path, found an empty text"),
        (["ls", "--index-dir", "", "f"], "'--index-dir': expected a path"),
        (["extract", "-o", "", "f"], "'--output': expected a path"),
        (["to-parquet", "-o", "", "f"], "'--output': expected a path"),
        (["archive", "--to", "", "f"], "'--to': expected a path"),
        (["load", "--output", "", "lake"], "'--output': expected a path"),
        (["completion"], "Choose from: bash, zsh, fish\n"),
        (["extract", "--gtid", "bla", "f"], "'--gtid' / '--include-gtids': expected a server UUID"),
        (["extract", "--gtid", "", "f"], "expected a GTID set, found an empty text"),
        (["extract", "--since", "tomorrow", "f"], "'--since': expected a time such as"),
        (["extract", "--start-position", "x:y", "f"], "'--start-position': expected a position"),
        (["extract", "--min-bytes", "12Q", "f"], "expected a number of bytes"),
        (["extract", "--fragment-bytes", "9", "f"], "--fragment-bytes applies only to --format thl"),
        (["extract", "--format", "thl", "--fragment-bytes", "0", "f"], "at least 1 byte"),
        (["extract", "--limit", "0", "f"], "'--limit': 0 is not in the range"),
        (["extract", "--thread-id", "-3", "f"], "-3 is not in the range x>=0"),
        (["extract", "--since", "2026-02-01", "--until", "2026-01-01", "f"], "expected a time span"),
        (["to-parquet", "f"], "'-o'"),
        (["to-parquet", "-o", "x", "--memory", "1", "f"], "1 is not in the range 16<=x"),
        (["load", "--output", "x"], "expected a data set written by to-parquet"),
        (["load", "--input", "x", "--output", "y", "--conf", "novalue"], "expected NAME=VALUE"),
        (["ls", "-", "-"], "standard input (-) can be read only once"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said(arguments: list[str], said: str) -> None:
    ended = binx(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("binx: error: ")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_the_message_names_the_help_that_tells_more() -> None:
    assert binx("extract", "--gtdi", "x").err.endswith("Try: binx extract --help\n")
    assert binx("nothing").err.endswith("Try: binx --help\n")


def test_sizes_take_binary_units(shop: Shop) -> None:
    by_unit = binx("ls", "--min-bytes", "4K", *shop.logs)
    assert by_unit == binx("ls", "--min-bytes", "4096", *shop.logs)
    assert 0 < len(by_unit.lines) < 10
