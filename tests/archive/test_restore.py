"""What an archive gives back is what went in, or an error and nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.archive.manifest import read_manifests
from binx.archive.restore import find_named, restore_log, restore_span
from binx.errors import AbsentError, DamagedError, SourceError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.extract import extract
from binx.storage.store import LocalStore
from tests.archive.places import MARIADB_SHOP, SHOP, UUID, archive, copy_logs

ACROSS = Selection(gtids=GtidSet.parse(f"{UUID}:370-380"))


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    archive(SHOP, tmp_path / "archive")
    return LocalStore(tmp_path / "archive")


def damage(store: LocalStore, number: int) -> None:
    (path,) = Path(store.where).glob(f"mysql-bin.{number:06}.*.zst")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_every_log_comes_back_byte_for_byte(store: LocalStore, tmp_path: Path) -> None:
    for number in range(1, 6):
        name = f"mysql-bin.{number:06}"
        path = restore_log(store, find_named(store, name), str(tmp_path))
        assert Path(path) == tmp_path / name
        assert Path(path).read_bytes() == (SHOP / name).read_bytes()


def test_a_name_that_several_logs_have_asks_which(store: LocalStore, tmp_path: Path) -> None:
    archive(MARIADB_SHOP, store.where)
    with pytest.raises(UsageError, match="several logs") as caught:
        find_named(store, "mysql-bin.000003")
    for log in read_manifests(store)[0]:
        assert (log.stem in caught.value.message) == (log.name == "mysql-bin.000003")
        restore_log(store, find_named(store, log.stem), str(tmp_path / log.stem))
        shop = SHOP if log.flavour == "mysql" else MARIADB_SHOP
        assert (tmp_path / log.stem).read_bytes() == (shop / log.name).read_bytes()


def test_a_log_that_is_not_there_is_absent(store: LocalStore) -> None:
    with pytest.raises(AbsentError, match=r"mysql-bin\.000099"):
        find_named(store, "mysql-bin.000099")


def test_a_log_is_not_said_to_be_absent_whose_manifest_may_be_one_that_cannot_be_read(
    store: LocalStore,
) -> None:
    (manifest,) = Path(store.where).glob("_manifest/mysql-bin.000002.*")
    manifest.write_bytes(b"{")
    with pytest.raises(SourceError, match="1 cannot be read, see --check"):
        find_named(store, "mysql-bin.000002")
    assert find_named(store, "mysql-bin.000001").name == "mysql-bin.000001"


def test_damage_leaves_nothing(store: LocalStore, tmp_path: Path) -> None:
    damage(store, 1)
    with pytest.raises(DamagedError):
        restore_log(store, find_named(store, "mysql-bin.000001"), str(tmp_path / "out"))
    with pytest.raises(DamagedError):
        restore_span(store, ACROSS, str(tmp_path / "out"))
    assert {path.name for path in tmp_path.iterdir()} == {"archive"}


def test_another_log_in_its_place_is_noticed(store: LocalStore, tmp_path: Path) -> None:
    (first,) = Path(store.where).glob("mysql-bin.000001.*.zst")
    (second,) = Path(store.where).glob("mysql-bin.000002.*.zst")
    first.write_bytes(second.read_bytes())
    with pytest.raises(DamagedError, match="hash"):
        restore_log(store, find_named(store, "mysql-bin.000001"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "selection", [ACROSS, Selection(since=1_795_254_532_500_000, until=1_795_254_533_000_000)]
)
def test_a_span_is_what_extract_takes_from_the_logs(
    store: LocalStore, tmp_path: Path, selection: Selection
) -> None:
    report = restore_span(store, selection, str(tmp_path / "restored"))
    with open_chain([str(SHOP)]) as chain:
        direct = extract(chain, selection, str(tmp_path / "direct"))
    assert report.transactions == direct.transactions > 0
    assert (tmp_path / "restored").read_bytes() == (tmp_path / "direct").read_bytes()


def test_gtids_that_are_not_there_are_told(store: LocalStore, tmp_path: Path) -> None:
    wanted = Selection(gtids=GtidSet.parse(f"{UUID}:1629-1631"))
    report = restore_span(store, wanted, str(tmp_path / "out"))
    assert (report.transactions, str(report.missing)) == (1, f"{UUID}:1630-1631")
    with pytest.raises(AbsentError):
        restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:5000")), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_times_of_several_servers_ask_for_one(store: LocalStore, tmp_path: Path) -> None:
    archive(MARIADB_SHOP, store.where)
    with pytest.raises(UsageError, match=r"several servers \(10, 97\)"):
        restore_span(store, Selection(since=0), str(tmp_path / "out"))
    assert restore_span(store, Selection(since=0), str(tmp_path / "out"), 97).transactions == 1629
    assert restore_span(store, ACROSS, str(tmp_path / "out")).transactions == 11


def test_who_restores_a_gtid_as_if_it_were_a_log_is_told_how(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
    store = LocalStore(tmp_path / "archive")
    with pytest.raises(AbsentError, match="to restore transactions, use --gtid"):
        find_named(store, "bf1c133d-e590-11f1-8de0-02fc00000001:5")
    with pytest.raises(AbsentError, match=r"no log named mysql-bin.000099 in the archive$"):
        find_named(store, "mysql-bin.000099")
