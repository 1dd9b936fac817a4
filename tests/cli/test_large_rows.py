"""A row takes a few times its size of memory, whatever is written of it, and is written whole."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from bench.limits import BLOB, LONGLONG, LogWriter, table_map, write_rows
from tests.cli.test_hostile import run

SIZE = 16 << 20
COPIES = 4
GTID = "00010203-0405-0607-0809-0a0b0c0d0e0f:1"
SCHEMA = "USE shop; CREATE TABLE files (id BIGINT PRIMARY KEY, b {});"

COMMANDS = {
    "sql": ("extract", "--format", "sql", "--schema", "SCHEMA"),
    "json": ("extract", "--format", "json"),
    "rows": ("extract", "--format", "json", "--rows"),
    "thl": ("extract", "--format", "thl"),
    "show": ("show", "--gtid", GTID),
    "show --json": ("show", "--gtid", GTID, "--json"),
    "why": ("why", "--schema", "SCHEMA", "--table", "shop.files", "--pk", "1"),
    "why --json": ("why", "--schema", "SCHEMA", "--table", "shop.files", "--pk", "1", "--json"),
}
"""Each reads a BLOB or, where no schema tells that it is one, a text that is none."""


def log_with(path: Path, size: int) -> Path:
    """A log of one row."""
    data = random.Random(3).randbytes(size)
    with path.open("w+b") as out:
        rows = write_rows(2, b"\0" + struct.pack("<qI", 1, len(data)) + data)
        LogWriter(out).transaction(iter((table_map("files", bytes([LONGLONG, BLOB]), b"\x04"), rows)))
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_memory_does_not_grow_by_more_than_some_copies_of_a_row(name: str, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA.format("LONGBLOB"))
    arguments = ["schema.sql" if one == "SCHEMA" else one for one in COMMANDS[name]]
    arguments += ["-o", "out"] if arguments[0] == "extract" else []
    small, large = (
        run(tmp_path, *arguments, str(log_with(tmp_path / f"{name.replace(' ', '')}.{size}", size)))
        for size in (100, SIZE)
    )
    assert (small.code, large.code) == (0, 0), large.text[-500:]
    assert large.peak - small.peak < COPIES * SIZE


def test_what_is_cut_for_people_is_whole_in_json(tmp_path: Path) -> None:
    log = log_with(tmp_path / "log.000001", 2 << 20)
    (tmp_path / "schema.sql").write_text(SCHEMA.format("LONGBLOB"))
    why = ("why", "--schema", "schema.sql", "--table", "shop.files", "--pk", "1", str(log))
    shown = run(tmp_path, *why).text
    digits = random.Random(3).randbytes(2 << 20)
    assert f"0x{digits[:512].hex()}… (2,097,152 bytes)" in shown
    assert digits[512:520].hex() not in shown
    extracted = run(tmp_path, "extract", "--format", "sql", "--schema", "schema.sql", "-o", "out", str(log))
    assert extracted.code == 0
    assert f"VALUES (1, x'{digits.hex()}');" in (tmp_path / "out").read_text()
