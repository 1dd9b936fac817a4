"""Small compressed transactions: they are decompressed many at a time, and damage of one is of that one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.errors import ExitCode
from tests.cli.process import binx
from tests.log import building

ROWS = [
    building.compressed(building.BEGIN, building.table_map(), building.rows(number), building.xid())
    for number in range(20)
]
"""Transactions of one row."""

DAMAGED = {
    "compressed by no known way": building.event(40, b"\x01\x01\x05\x03\x01\x05\x00hello"),
    "an event that is cut": building.compressed(building.BEGIN, building.table_map()[:-3]),
    "no end": building.compressed(building.BEGIN, building.table_map(), building.rows(7)),
    "another size": building.compressed(building.BEGIN, building.xid(), claimed=500),
    "a field that is cut": building.event(40, b"\x01\x01\xfe\x03\x01\x05\x00hello"),
}


def written(path: Path, payloads: list[bytes]) -> Path:
    parts = [part for number, one in enumerate(payloads, 1) for part in (building.gtid(number), one)]
    path.write_bytes(building.whole_log(*parts))
    return path


def keys(*arguments: str | Path, code: ExitCode = ExitCode.DONE) -> list[int]:
    done = binx("extract", "--format", "json", *arguments)
    assert done.code == code, done.err
    return [
        change["after"]["c1"]
        for transaction in map(json.loads, done.lines)
        for change in transaction["changes"]
    ]


def test_each_has_its_rows(tmp_path: Path) -> None:
    assert keys(written(tmp_path / "mysql-bin.000001", ROWS)) == list(range(20))


@pytest.mark.parametrize("before", [0, 1, 19])
@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_reported_alike_alone_and_among_others(damaged: bytes, before: int, tmp_path: Path) -> None:
    errors = []
    for number, payloads in enumerate([[damaged], [*ROWS[:before], damaged, *ROWS[before:]]]):
        path = written(tmp_path / f"mysql-bin.{number + 1:06}", payloads)
        done = binx("extract", "--format", "json", path)
        assert done.code == ExitCode.FAILED
        start = path.read_bytes().index(damaged[19:]) - 19
        assert f"{path}, offset {start}, TRANSACTION_PAYLOAD: " in done.err
        errors.append(done.err.replace(f"{path}, offset {start}", ""))
    assert errors[0] == errors[1]
    assert keys("--on-damage", "salvage", path, code=ExitCode.LOSSES) == list(range(20))
