"""Parquet that grows with an archive is that of all its logs at once."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from binx.dataset.dataset import DataSet
from binx.dataset.parquet import to_parquet
from binx.log.chain.inputs import open_chain
from tests.archive.places import MARIADB_SHOP, SHOP, archive, contents, copy_logs, states


def at_once(source: Path, folder: Path) -> dict[str, str]:
    with open_chain([str(source)]) as chain:
        for _ in to_parquet([ends.file for ends in chain], folder):
            pass
    return contents(folder)


@pytest.mark.parametrize("shop", [SHOP, MARIADB_SHOP], ids=["mysql", "mariadb"])
def test_log_by_log_is_the_same_as_all_at_once(tmp_path: Path, shop: Path) -> None:
    """The names of MariaDB's columns come from DDL in the first log alone."""
    for number in (1, 2, 3):
        source = copy_logs(tmp_path / "logs", number, shop=shop)
        reports, run = archive(source, tmp_path / "archive", parquet=str(tmp_path / "lake"))
        assert [state for _, state in states(reports)] == ["archived", "tables written"]
        assert (run.losses, run.as_dict()["tables"]) == (0, 1)
    assert contents(tmp_path / "lake") == at_once(tmp_path / "logs", tmp_path / "expected")


def test_tables_of_logs_that_were_archived_before_are_made_of_the_archive(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    archive(source, tmp_path / "archive")
    expected = at_once(source, tmp_path / "expected")
    shutil.rmtree(source)
    reports, _ = archive(copy_logs(source, 3), tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert [state for _, state in states(reports)] == ["archived", *["tables written"] * 3]
    assert expected.items() <= contents(tmp_path / "lake").items()


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    before = contents(tmp_path)
    reports, run = archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert (reports, run.is_idle) == ([], True)
    assert contents(tmp_path) == before


def test_a_dry_run_makes_no_data_set(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"), dry_run=True)
    assert list(tmp_path.iterdir()) == []


class KilledError(BaseException):
    """Stands for the process's end."""


def killed(*_: object) -> None:
    raise KilledError


def test_what_a_run_left_that_was_killed_behind_its_last_commit_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, place, lake = copy_logs(tmp_path / "logs", 1), tmp_path / "archive", tmp_path / "lake"
    with monkeypatch.context() as patch:
        patch.setattr(DataSet, "clear_staged", killed)
        with pytest.raises(KilledError):
            archive(source, place, parquet=str(lake))
    assert [path.name for path in (lake / "_staging").iterdir()] == ["mysql-bin.000001.531885cf"]
    with DataSet(lake).store.locked():
        # Whoever writes there now removes it, and is no reason to fail.
        assert archive(source, place, parquet=str(lake))[1].is_idle
    assert archive(source, place, parquet=str(lake))[1].is_idle
    assert not (lake / "_staging").exists()


def test_the_tables_of_a_server_are_followed_where_its_id_changed_for_a_while(tmp_path: Path) -> None:
    """The names of MariaDB's columns come from DDL in the first log alone, whatever id that has."""
    source = copy_logs(tmp_path / "logs", 1, 2, 3, shop=MARIADB_SHOP)
    path = source / "mysql-bin.000002"
    data = bytearray(path.read_bytes())
    end = 4 + int.from_bytes(data[13:17], "little")
    data[9:13] = (98).to_bytes(4, "little")
    data[end - 4 : end] = zlib.crc32(data[4 : end - 4]).to_bytes(4, "little")
    path.write_bytes(data)
    _, run = archive(source, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert (run.losses, run.as_dict()["tables"]) == (0, 3)
    assert contents(tmp_path / "lake") == at_once(source, tmp_path / "expected")
