"""Relay logs: the transactions of their source, also where one goes on in the next log, or the next five."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import binx
from binx.errors import AbsentError, BinxError, TruncatedError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import open_files
from binx.log.chain.ends import facts_of
from binx.log.chain.inputs import open_chain
from binx.log.chain.relay import begins_inside, join_relay_logs
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions
from binx.source.byte_source import JoinedSource
from tests.conftest import PROJECT, SERVERS
from tests.log.searching import Bytes


def relay_logs(server: str) -> list[str]:
    return sorted(str(path) for path in (PROJECT / "testdata" / server / "relay").glob("relay-bin.0*"))


def source_logs(server: str) -> list[str]:
    return sorted(str(path) for path in (PROJECT / "testdata" / server / "relay/source").iterdir())


def transactions(paths: Sequence[str], level: Level = Level.LEVEL_TABLES) -> list[tuple[Any, ...]]:
    """What a transaction is, wherever it stands."""
    found = []
    with open_chain(paths) as chain:
        for ends in chain:
            for table in Scan(ends.file, level):
                found += [
                    (
                        table.gtid(index),
                        *(table.value(name, index) for name in ("kind", "commit_timestamp", "rows")),
                    )
                    for index in range(len(table))
                ]
    return found


def cut_logs(server: str) -> list[str]:
    return [
        path
        for path, file in zip(relay_logs(server), open_files(relay_logs(server)), strict=True)
        if begins_inside(file)
    ]


@pytest.mark.parametrize("server", SERVERS)
def test_relay_logs_hold_the_transactions_of_their_source(server: str) -> None:
    assert transactions(relay_logs(server)[::-1]) == transactions(source_logs(server)) != []
    assert all(file.is_relay_log for file in open_files(relay_logs(server)))
    assert not any(file.is_relay_log for file in open_files(source_logs(server)))


def test_mariadb_cuts_transactions_and_mysql_does_not() -> None:
    assert len(cut_logs("mariadb-10.11")) > 2
    assert cut_logs("mysql-9.7") == []


@pytest.mark.parametrize("level", list(Level))
def test_every_level_finds_the_same_of_logs_that_are_cut(level: Level) -> None:
    found = transactions(relay_logs("mariadb-10.11"), level)
    assert [one[0] for one in found] == [one[0] for one in transactions(source_logs("mariadb-10.11"))]


@pytest.mark.parametrize("server", SERVERS)
def test_rows_are_those_of_the_source(server: str) -> None:
    found = []
    for logs in (relay_logs(server), source_logs(server)):
        with binx.open(*logs) as opened:
            rows = opened.changes("relayed.t").read_all().to_pylist()
        for row in rows:
            del row["_commit_version"], row["_position"]
        found.append(rows)
    assert found[0] == found[1]
    assert len(found[0]) == 54


def test_positions_are_those_of_the_files() -> None:
    logs = relay_logs("mariadb-10.11")
    with open_chain(logs) as chain:
        for ends in chain:
            data = Path(ends.file.path).read_bytes()
            for table in Scan(ends.file):
                for index in range(len(table)):
                    start = table.value("start", index)
                    assert data[start + 4] == 162, "a GTID event begins each transaction"


def test_a_slice_of_a_cut_transaction_is_a_whole_one(tmp_path: Path) -> None:
    large = max(transactions(relay_logs("mariadb-10.11")), key=lambda one: one[3])
    with open_chain(relay_logs("mariadb-10.11")) as chain:
        extract(chain, Selection(min_bytes=10_000), str(tmp_path / "slice.000001"), ExtractOptions())
    assert transactions([str(tmp_path / "slice.000001")]) == [large]


def test_a_log_that_begins_inside_a_transaction_is_refused_alone() -> None:
    for path in cut_logs("mariadb-10.11"):
        before = f"relay-bin.{int(path[-6:]) - 1:06}"
        for on_damage in OnDamage:
            with (
                pytest.raises(
                    AbsentError, match=f"inside a transaction of the log before it, {before}"
                ) as caught,
                open_chain([path], on_damage=on_damage),
            ):
                pass
            assert caught.value.path == path


def test_where_a_log_between_is_missing_nothing_is_joined() -> None:
    logs = relay_logs("mariadb-10.11")
    cut = logs.index(cut_logs("mariadb-10.11")[1])
    with pytest.raises(AbsentError), open_chain([*logs[:cut], *logs[cut + 1 :]]):
        pass


def test_a_transaction_whose_end_is_missing_is_cut() -> None:
    logs = relay_logs("mariadb-10.11")
    cut = logs.index(cut_logs("mariadb-10.11")[0])
    for stop in (cut, cut + 1, cut + 2):
        with pytest.raises(TruncatedError, match="truncated inside a transaction") as caught:
            transactions(logs[:stop])
        assert caught.value.path == logs[cut - 1]


def test_cut_and_copied_logs_give_only_errors_that_are_reported(tmp_path: Path) -> None:
    for path in relay_logs("mariadb-10.11"):
        shutil.copy(path, tmp_path)
    logs = sorted(str(path) for path in tmp_path.iterdir())
    victim = Path(logs[2])
    data = victim.read_bytes()
    for size in range(300, len(data), 97):
        victim.write_bytes(data[:size])
        with pytest.raises(BinxError):
            transactions(logs)


def damaged_at(folder: Path, log: int, position: int) -> list[str]:
    """Relay logs, one of which has an event of no size at an offset."""
    for path in relay_logs("mariadb-10.11"):
        shutil.copy(path, folder)
    logs = sorted(str(path) for path in folder.iterdir())
    data = bytearray(Path(logs[log]).read_bytes())
    data[position + 9 : position + 13] = bytes(4)
    Path(logs[log]).write_bytes(data)
    return logs


@pytest.mark.parametrize(
    ("log", "position", "lost"),
    [(0, 256, {None}), (1, 1062, {"0-10-4"})],
    ids=["another log", "the same log"],
)
def test_logs_are_joined_after_damage_where_it_is_passed_over(
    tmp_path: Path, log: int, position: int, lost: set[str]
) -> None:
    logs = damaged_at(tmp_path, log, position)
    with pytest.raises(BinxError):
        transactions(logs)
    with open_chain(logs, on_damage=OnDamage.SALVAGE) as chain:
        tables = [table for ends in chain for table in Scan(ends.file, on_damage=OnDamage.SALVAGE)]
        found = {table.gtid(index) for table in tables for index in range(len(table))}
    assert found == {one[0] for one in transactions(source_logs("mariadb-10.11"))} - lost


def test_a_log_whose_transaction_cannot_be_joined_stays_as_it_is(tmp_path: Path) -> None:
    """The damaged log tells of itself."""
    logs = damaged_at(tmp_path, 3, 508)
    files = open_files(logs)
    assert join_relay_logs(files, OnDamage.SALVAGE) == [files[2], files[4]]
    assert not any(isinstance(file.source, JoinedSource) for file in files)
    for file in files:
        file.close()


def test_a_joined_source_shows_what_its_parts_hold() -> None:
    parts = [Bytes(b"\xfebin" + bytes(range(start, start + 50))) for start in (0, 50, 100)]
    joined = JoinedSource(parts[0], parts[1:], 130)
    expected = (b"\xfebin" + bytes(range(150)))[:130]
    for start in range(0, 131, 7):
        for stop in range(start, 140, 11):
            assert bytes(joined.window(start, stop)) == expected[start:stop]


def test_a_file_that_reads_on_is_joined_once() -> None:
    files = open_files(relay_logs("mariadb-10.11"))
    before = [facts_of(file).next_log for file in files]
    join_relay_logs(files)
    assert sum(isinstance(file.source, JoinedSource) for file in files) == 1
    assert sum(file.resumption is not None for file in files) == len(cut_logs("mariadb-10.11"))
    assert [facts_of(file).next_log for file in files] == before
    for file in files:
        file.close()
