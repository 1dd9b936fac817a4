"""Logs decoded side by side, and files written beside the decoding: the same data set as in one pass."""

from __future__ import annotations

from pathlib import Path
from threading import current_thread
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.dataset import parquet
from binx.dataset.chain import Place, SourceReport, packed, survey, unpacked
from binx.dataset.continuation import ChainState
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.errors import DamagedError, OutputError
from binx.event.gtid.sets import GtidSet
from binx.log.file import BinlogFile, open_files
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.rows.ddl.catalog import Catalog
from binx.storage import hashing
from binx.where.condition import Condition
from tests.dataset.slices import TESTDATA
from tests.dataset.test_parquet import contents

CHAINS = {
    f"{server}/shop": sorted((TESTDATA / server / "shop").glob("mysql-bin.0*"))
    for server in ("mysql-9.7", "mariadb-10.11")
}


def export(
    folder: Path,
    paths: list[Path],
    jobs: int,
    selection: Selection | None = None,
    more: dict[str, Any] | None = None,
    **arguments: Any,
) -> tuple[dict[str, str], list[SourceReport], Selector]:
    files = open_files([str(path) for path in paths])
    try:
        selector = Selector(selection or Selection(), [file.name for file in files], in_parts=True)
        options = ParquetOptions(jobs=jobs, **(more or {}))
        reports = list(to_parquet(files, folder, selector, options=options, **arguments))
    finally:
        for file in files:
            file.close()
    return contents(folder), reports, selector


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("jobs", [2, 3])
def test_any_number_of_jobs_makes_the_same_files(chain: str, jobs: int, tmp_path: Path) -> None:
    paths = CHAINS[chain]
    states = [(Catalog(), ChainState()), (Catalog(), ChainState())]
    told: list[int] = []
    alone, reports, _ = export(tmp_path / "alone", paths, 1, catalog=states[0][0], state=states[0][1])
    shared, others, _ = export(
        tmp_path / "shared", paths, jobs, catalog=states[1][0], state=states[1][1], progress=told.append
    )
    assert shared == alone
    assert [one.source for one in others] == [one.source for one in reports]
    assert told == sorted(told)
    assert told[-1] == sum(path.stat().st_size for path in paths)
    (one, before), (other, behind_all) = states
    assert other.fingerprint() == one.fingerprint()
    assert (behind_all.epoch, behind_all.seqno) == (before.epoch, before.seqno)


@pytest.mark.parametrize("more", [{}, {"where": Condition("id > 3")}])
def test_logs_are_decoded_by_threads_of_their_own(
    more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    threads = set()

    def seen(*arguments: Any, **named: Any) -> Any:
        threads.add(current_thread().name)
        return exported(*arguments, **named)

    exported = parquet.export_log
    monkeypatch.setattr(parquet, "export_log", seen)
    shared, _, _ = export(tmp_path / "shared", paths, 2, more=more)
    assert len(threads) == 2
    monkeypatch.setattr(parquet, "export_log", exported)
    assert shared == export(tmp_path / "alone", paths, 1, more=more)[0]


@pytest.mark.parametrize("chain", CHAINS)
def test_a_pass_over_statements_leads_where_decoding_does(chain: str, tmp_path: Path) -> None:
    files = open_files([str(path) for path in CHAINS[chain]])
    catalog, state = Catalog(), ChainState()
    place = Place(packed(catalog), 0, 1, 0)
    try:
        for file in files:
            place = survey(file, Selection(), ()).place_behind(place, file)
            list(to_parquet([file], tmp_path, catalog=catalog, state=state))
            assert (place.epoch, place.seqno) == (state.epoch, state.seqno)
            assert unpacked(place.tables).fingerprint() == catalog.fingerprint()
    finally:
        for file in files:
            file.close()
    assert len(catalog) > 1


def test_logs_that_were_written_before_are_kept(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    alone, _, _ = export(tmp_path / "alone", paths, 1)
    export(tmp_path / "out", paths[:2], 1)
    shared, reports, _ = export(tmp_path / "out", paths, 2)
    assert [report.kept for report in reports] == [True, True] + [False] * (len(paths) - 2)
    assert shared == alone
    again, reports, _ = export(tmp_path / "out", paths, 2)
    assert all(report.kept for report in reports)
    assert again == alone


def test_a_selection_is_answered_from_all_logs(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    export(tmp_path / "everything", paths, 1)
    gtids = [one for one in pq.read_table(tmp_path / "everything/transactions")["gtid"].to_pylist() if one]
    unknown = GtidSet.parse("11111111-1111-1111-1111-111111111111:7")
    selection = Selection(gtids=GtidSet.parse(",".join([gtids[0], gtids[-1]])) | unknown)
    alone, _, _ = export(tmp_path / "alone", paths, 1, selection)
    for _ in range(2):
        shared, _, selector = export(tmp_path / "shared", paths, 2, selection)
        assert shared == alone
        assert selector.missing() == unknown


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_a_limit_counts_over_all_logs(limit: int, tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    alone, reports, _ = export(tmp_path / "alone", paths, 1, Selection(limit=limit))
    shared, _, _ = export(tmp_path / "shared", paths, 3, Selection(limit=limit))
    assert shared == alone
    everything = export(tmp_path / "everything", paths, 1)[1]
    expected = min(limit, sum(report.transactions for report in everything))
    assert sum(report.transactions for report in reports) == expected


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_stands_before_damage_is_committed_and_the_error_is_the_same(place: int, tmp_path: Path) -> None:
    paths = [*CHAINS["mysql-9.7/shop"][:4]]
    damage(paths, place, tmp_path)
    with pytest.raises(DamagedError) as alone:
        export(tmp_path / "alone", paths, 1)
    with pytest.raises(DamagedError) as shared:
        export(tmp_path / "shared", paths, 2)
    assert str(shared.value) == str(alone.value)
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
    assert len(list((tmp_path / "shared").glob("_manifest/*"))) == place
    assert not (tmp_path / "shared/_staging").exists()


def test_behind_damage_that_is_salvaged_logs_go_on_from_what_is_known_then(tmp_path: Path) -> None:
    paths = [*CHAINS["mysql-9.7/shop"][:4]]
    damage(paths, 1, tmp_path)
    more = {"on_damage": OnDamage.SALVAGE}
    alone, _, _ = export(tmp_path / "alone", paths, 1, more=more)
    shared, reports, _ = export(tmp_path / "shared", paths, 3, more=more)
    assert shared == alone
    assert [bool(report.manifest["damage"]) for report in reports] == [False, True, False, False]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_whoever_writes_ends_the_log_and_leaves_nothing(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hashing.HashedFile, "write", full)
    with pytest.raises(OutputError, match="no space left"):
        export(tmp_path / "out", CHAINS["mysql-9.7/shop"], jobs)
    assert not (tmp_path / "out/_staging").exists()
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_whoever_takes_no_more_reports_ends_all_work(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    files: list[BinlogFile] = open_files([str(path) for path in paths])
    try:
        reports = to_parquet(files, tmp_path / "out", options=ParquetOptions(jobs=2))
        next(reports)
        reports.close()  # type: ignore[attr-defined]
    finally:
        for file in files:
            file.close()
    assert len(list((tmp_path / "out").glob("_manifest/*"))) == 1
    assert not (tmp_path / "out/_staging").exists()


def damage(paths: list[Path], place: int, folder: Path) -> None:
    """Have a log with a changed byte in the place of one."""
    data = bytearray(paths[place].read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    paths[place] = folder / paths[place].name
    paths[place].write_bytes(data)
