"""Extraction: which files are walked, where the search ends, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.errors import AbsentError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection
from binx.slices.extract import ExtractOptions, SliceFormat, extract
from binx.slices.search import Search


@pytest.fixture(scope="module")
def shop(testdata: Path) -> Path:
    return testdata / "mysql-9.7" / "shop"


@pytest.fixture(scope="module")
def demo(shop: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((shop / "demo.json").read_text("utf-8"))
    return found


def logs(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("mysql-bin.0*"))


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are scanned."""
    names: list[str] = []
    scan = BinlogFile.scan

    def noting(self: BinlogFile, *arguments: object, **settings: object) -> object:
        names.append(self.name)
        return scan(self, *arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(BinlogFile, "scan", noting)
    return names


def test_only_the_file_that_holds_the_gtid_is_walked(
    shop: Path, demo: dict[str, str], walked: list[str]
) -> None:
    with open_chain(logs(shop)) as chain:
        runs = list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert walked == [demo["file"]]
    assert [run.file.name for run in runs] == [demo["file"]]


def test_files_that_are_ruled_out_count_as_done(shop: Path, demo: dict[str, str]) -> None:
    """So that a bar whose whole is all files moves over them."""
    done: list[int] = []
    with open_chain(logs(shop), done.append) as chain:
        before = [ends.file.size for ends in chain if ends.file.name < demo["file"]]
        list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert before
    assert done[: len(before)] == before


def test_a_file_is_walked_where_the_next_one_is_not_there_to_rule_it_out(
    shop: Path, demo: dict[str, str], walked: list[str]
) -> None:
    paths = [path for path in logs(shop) if not path.endswith("2")]
    with open_chain(paths) as chain:
        list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert walked == ["mysql-bin.000001", "mysql-bin.000003"]


def test_gtids_that_are_missing_everywhere_are_told(shop: Path, demo: dict[str, str], tmp_path: Path) -> None:
    source = demo["gtid"].partition(":")[0]
    wanted = GtidSet.parse(f"{demo['gtid']},{source}:99990-99999")
    with open_chain(logs(shop)) as chain:
        report = extract(chain, Selection(gtids=wanted), str(tmp_path / "one.binlog"))
    assert report.transactions == 1
    assert str(report.missing) == f"{source}:99990-99999"
    assert report.bytes == (tmp_path / "one.binlog").stat().st_size


@pytest.mark.parametrize("form", [SliceFormat.BINLOG, SliceFormat.SQL])
def test_where_nothing_is_found_nothing_is_written(shop: Path, tmp_path: Path, form: SliceFormat) -> None:
    selection = Selection(gtids=GtidSet.parse("00000000-0000-0000-0000-000000000001:1"))
    with open_chain(logs(shop)) as chain, pytest.raises(AbsentError, match=r"not in these files: 0{8}-"):
        extract(chain, selection, str(tmp_path / "none"), ExtractOptions(format=form))
    assert list(tmp_path.iterdir()) == []


def test_a_limit_ends_the_search(shop: Path, walked: list[str]) -> None:
    with open_chain(logs(shop)) as chain:
        runs = list(Search(chain, Selection(limit=5)).runs())
    assert walked == ["mysql-bin.000001"]
    assert sum(bytes(run.mask or b"").count(1) for run in runs) == 5


def test_names_come_from_ddl_before_the_wanted_transaction(testdata: Path, tmp_path: Path) -> None:
    """MariaDB's second log has no names in it: they are in the first log's CREATE TABLE."""
    shop = testdata / "mariadb-10.11" / "shop"
    with open_chain(logs(shop)) as chain:
        second = next(Search(chain, Selection()).selected())
        first_gtid = second.table.gtid(len(second.table) - 1)
        assert first_gtid is not None
        number = int(first_gtid.rpartition("-")[2])
        wanted = GtidSet.parse(f"{first_gtid},0-10-{number + 1}..{number + 40}")
        extract(
            chain,
            Selection(gtids=wanted, tables=("shop.orders",)),
            str(tmp_path / "out.sql"),
            ExtractOptions(format=SliceFormat.SQL),
        )
    text = (tmp_path / "out.sql").read_text("utf-8")
    assert "`customer_id`" in text
    assert "`c1`" not in text
