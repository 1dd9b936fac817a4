"""Columns that have names from a table of another server are reported."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.exports import export
from tests.log import building

OWN, OTHER = 7, 8


def log(folder: Path, number: int, server: int, *events: bytes) -> Path:
    """A log with a server's id in its format description."""
    data = bytearray(building.whole_log(*events))
    (size,) = struct.unpack_from("<I", data, 4 + 9)
    struct.pack_into("<I", data, 4 + 5, server)
    struct.pack_into("<I", data, size, zlib.crc32(data[4:size]))
    path = folder / f"mysql-bin.{number:06}"
    path.write_bytes(data)
    return path


def rows_of(number: int) -> tuple[bytes, ...]:
    return (
        building.gtid(number),
        building.query("BEGIN"),
        building.table_map(),
        building.rows(1),
        building.xid(),
    )


@pytest.mark.parametrize(("server", "told"), [(OWN, 0), (OTHER, 1)])
def test_columns_that_are_called_as_another_servers_are_reported(
    server: int, told: int, tmp_path: Path
) -> None:
    """One may have taken over from the other; or both have a table of that name, and its columns differ."""
    made = (building.gtid(1), building.query("CREATE TABLE orders (amount INT)"))
    first = log(tmp_path, 1, OWN, *made, *rows_of(2))
    second = log(tmp_path, 2, server, *rows_of(3))
    reports = export(tmp_path / "lake", [first, second])
    assert not reports[0].manifest["warnings"]
    warnings = [line for line in reports[1].manifest["warnings"] if f"of server {OWN}" in line]
    assert len(warnings) == told
    assert all(f"logs of server {OTHER}" in line and "--schema" in line for line in warnings)
