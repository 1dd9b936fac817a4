"""``--on-damage salvage``: commands go on after damage, and list what they could not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.cli.run import run
from binx.errors import ExitCode
from tests.conftest import TESTDATA

LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000002"
SIZE = 4096
LOST = 7
"""Transactions that the zeros touch: their GTIDs are missing between those that are left."""


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log in the middle of which 4 KiB are zeros."""
    data = bytearray(LOG.read_bytes())
    middle = len(data) // 2
    data[middle : middle + SIZE] = bytes(SIZE)
    path = tmp_path / LOG.name
    path.write_bytes(data)
    return path


COMMANDS = {
    "ls": ["ls"],
    "ls, sorted": ["ls", "--sort", "size"],
    "show": ["show", "--json"],
    "stats": ["stats", "--json"],
    "events": ["events"],
    "why": ["why", "--table", "shop.orders", "--where", "id > 0"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_reading_goes_on_after_damage_only_where_that_is_asked_for(
    command: list[str], damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, str(LOG)]) is ExitCode.DONE
    whole = capsys.readouterr().out
    assert run([*command, str(damaged)]) is not ExitCode.DONE
    stopped = capsys.readouterr()
    assert "on-damage salvage" in stopped.err or "were not read" in stopped.err
    assert run([*command, "--on-damage", "salvage", str(damaged)]) is ExitCode.LOSSES
    salvaged = capsys.readouterr()
    assert len(stopped.out) <= len(salvaged.out) <= len(whole) + SIZE
    assert "are damaged" in salvaged.err or "are passed over" in salvaged.err


def test_the_lost_transactions_are_named(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ls", "--columns", "gtid", str(LOG)]) is ExitCode.DONE
    whole = capsys.readouterr().out.split()
    assert run(["ls", "--columns", "gtid", "--on-damage", "salvage", str(damaged)]) is ExitCode.LOSSES
    listed = capsys.readouterr()
    left = listed.out.split()
    lost = [gtid for gtid in whole if gtid not in left]
    assert left == [gtid for gtid in whole if gtid not in lost]
    assert len(lost) == LOST
    source, first = lost[0].split(":")
    assert f"lost with them: {source}:{first}-{lost[-1].split(':')[1]}" in listed.err


def test_the_figures_have_what_is_whole_and_the_bytes_that_are_damaged(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["stats", "--json", str(LOG)]) is ExitCode.DONE
    whole = json.loads(capsys.readouterr().out)
    assert run(["stats", "--json", "--on-damage", "salvage", str(damaged)]) is ExitCode.LOSSES
    figures = json.loads(capsys.readouterr().out)
    (file,) = figures["files"]
    assert figures["transactions"] == whole["transactions"] - LOST
    assert SIZE <= file["damaged_bytes"] < 2 * SIZE
    parts = ("header_bytes", "transaction_bytes", "unfinished_bytes", "damaged_bytes")
    assert sum(file[part] for part in parts) == file["bytes"]


def test_a_diff_with_a_damaged_copy_finds_what_that_lost(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "--json", "--on-damage", "salvage", str(LOG), str(damaged)]) is ExitCode.LOSSES
    found = json.loads(capsys.readouterr().out)
    assert found["only_left"]["transactions"] == LOST
    assert found["different"]["transactions"] == found["only_right"]["transactions"] == 0


def test_bytes_of_a_log_in_use_that_are_not_read_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(LOG.read_bytes())
    data[4 + 17] |= 1
    path = tmp_path / LOG.name
    path.write_bytes(data[: len(data) // 2])
    for command in (["ls"], ["show"], ["extract", "-o", str(tmp_path / "slice")]):
        assert run([*command, str(path)]) is ExitCode.DONE
        assert "bytes are an incomplete transaction and are not read" in capsys.readouterr().err


@pytest.fixture
def undefined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A log whose rows are intact, of which some cannot be decoded without the definition of their table."""
    log = TESTDATA / "mariadb-10.11" / "small" / "times_with_fractions.binlog"
    path = tmp_path / "mysql-bin.000001"
    assert run(["extract", "--gtid", "0-10-3..10", str(log), "-o", str(path)]) is ExitCode.DONE
    capsys.readouterr()
    return path


def test_rows_that_are_intact_and_cannot_be_decoded_are_no_damage(
    undefined: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(undefined)]) is ExitCode.DONE
    salvaged = tmp_path / "salvaged"
    assert run(["extract", "--on-damage", "salvage", str(undefined), "-o", str(salvaged)]) is ExitCode.DONE
    assert run(["diff", "--gtids", str(undefined), str(salvaged)]) is ExitCode.DONE
    (tmp_path / "source").mkdir()
    undefined.rename(tmp_path / "source" / undefined.name)
    archive = ["archive", str(tmp_path / "source" / undefined.name), "--to", str(tmp_path / "archive")]
    (tmp_path / "source" / "mysql-bin.000002").write_bytes(salvaged.read_bytes())
    archive[1] = str(tmp_path / "source")
    assert run(archive) is ExitCode.DONE
    assert "archived, 8 transactions" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["show", "--json"], ["extract", "--format", "json", "-o", "-"]])
def test_other_transactions_are_shown_beside_those_that_cannot_be_decoded(
    command: list[str], undefined: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, str(undefined)]) is ExitCode.LOSSES
    shown = capsys.readouterr()
    documents = [json.loads(line) for line in shown.out.splitlines()]
    left = {document["transaction"] for document in documents}
    assert {"0-10-4", "0-10-6", "0-10-7", "0-10-9", "0-10-10"} <= left
    for gone in {"0-10-3", "0-10-5", "0-10-8"} - left:
        assert f"transaction {gone}: rows of small.t cannot be decoded" in shown.err
    assert run([*command, "--gtid", "0-10-10", str(undefined)]) is ExitCode.DONE


@pytest.mark.parametrize("damage", [range(4), range(4, 60), range(20, 22)], ids=["magic", "header", "length"])
def test_a_damaged_first_event_is_replaced_by_that_of_another_log(
    damage: range, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINX_FORMAT_FROM", "")
    neighbour = str(LOG.with_name("mysql-bin.000003"))
    assert run(["ls", "--columns", "gtid", str(LOG)]) is ExitCode.DONE
    whole = capsys.readouterr().out
    data = bytearray(LOG.read_bytes())
    for offset in damage:
        data[offset] ^= 0x55
    path = tmp_path / LOG.name
    path.write_bytes(data)
    listing = ["ls", "--columns", "gtid", str(path)]
    assert run(listing) is ExitCode.FAILED
    assert run([*listing, "--format-from", neighbour]) is ExitCode.FAILED
    capsys.readouterr()
    assert run([*listing, "--on-damage", "salvage", "--format-from", neighbour]) is ExitCode.LOSSES
    salvaged = capsys.readouterr()
    assert salvaged.out == whole
    assert "read with the format description of another log" in salvaged.err
