"""What is told of each file where people ask."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx


@pytest.mark.parametrize("form", ["binlog", "sql"])
def test_files_that_are_not_read_and_the_one_that_ends_the_search(
    shop: Shop, tmp_path: Path, form: str
) -> None:
    told = ("--verbose", "--format", form, "--gtid", shop.demo["gtid"], "-o", tmp_path / "one")
    lines = binx("extract", *told, *shop.logs).err.splitlines()
    wanted = shop.folder / shop.demo["file"]
    assert f"binx: {shop.logs[0]}: opened, {shop.logs[0].stat().st_size:,} bytes, written by 9.7" in lines[0]
    assert any(
        line.startswith(f"binx: {wanted}: ") and line.endswith(" 1 selected; everything requested is found")
        for line in lines
    )
    assert len(lines) == len(set(lines))
    later = [log for log in shop.logs if log > wanted]
    assert later
    assert not [line for line in lines if str(later[0]) in line and "transactions read" in line]
    if form == "binlog":
        assert f"binx: {shop.logs[0]}: not read: ruled out by GTIDs" in "\n".join(lines)


def test_index_files_that_are_used(shop: Shop, tmp_path: Path) -> None:
    logs = [shutil.copy(log, tmp_path) for log in shop.logs]
    assert binx("index", *logs).code == 0
    told = binx("why", "-v", "--table", "shop.orders", "--pk", "9007199254740992", *logs).err
    assert f"binx: {logs[0]}: its index file is used: {logs[0]}.binx" in told


def test_steps_leave_data_alone_and_are_not_told_unasked(shop: Shop) -> None:
    plain, verbose = binx("ls", shop.logs[0]), binx("ls", "-v", shop.logs[0])
    assert plain.out == verbose.out
    assert plain.err == ""
    assert binx("ls", shop.logs[0], env={"BINX_VERBOSE": "1"}).err == verbose.err
