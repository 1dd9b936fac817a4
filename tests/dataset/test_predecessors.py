"""Logs of a chain, together or one run after another: the same data set."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from threading import current_thread
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.dataset import parquet
from binx.dataset.continuation import ChainState, find_continuation
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.dataset.predecessors import ChainPlace, SourceReport, packed, survey, unpacked
from binx.errors import AbsentError, DamagedError, OutputError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile, open_files
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.rows.columns.schema import Provenance
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.storage.store import open_store
from binx.where.condition import Condition
from tests.conftest import TESTDATA
from tests.dataset.test_parquet import ask
from tests.exports import contents, export
from tests.log import building

CHAINS = {
    f"{server}/shop": sorted((TESTDATA / server / "shop").glob("mysql-bin.0*"))
    for server in ("mysql-9.7", "mariadb-10.11")
}


def export_logs(
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
@pytest.mark.parametrize("jobs", [2, 4, 6])
def test_any_number_of_jobs_makes_the_same_files(chain: str, jobs: int, tmp_path: Path) -> None:
    paths = CHAINS[chain]
    states = [(Catalog(), ChainState()), (Catalog(), ChainState())]
    told: list[int] = []
    alone, reports, _ = export_logs(tmp_path / "alone", paths, 1, catalog=states[0][0], state=states[0][1])
    shared, others, _ = export_logs(
        tmp_path / "shared", paths, jobs, catalog=states[1][0], state=states[1][1], progress=told.append
    )
    assert shared == alone
    assert [one.source for one in others] == [one.source for one in reports]
    assert told == sorted(told)
    assert told[-1] == sum(path.stat().st_size for path in paths)
    (one, before), (other, after_all) = states
    assert other.fingerprint() == one.fingerprint()
    assert (after_all.epoch, after_all.seqno) == (before.epoch, before.seqno)


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
    shared, _, _ = export_logs(tmp_path / "shared", paths, 4, more=more)
    assert len(threads) == 2
    monkeypatch.setattr(parquet, "export_log", exported)
    assert shared == export_logs(tmp_path / "alone", paths, 1, more=more)[0]


@pytest.mark.parametrize("chain", CHAINS)
def test_a_pass_over_statements_leads_where_decoding_does(chain: str, tmp_path: Path) -> None:
    files = open_files([str(path) for path in CHAINS[chain]])
    catalog, state = Catalog(), ChainState()
    place = ChainPlace(packed(catalog), 0, 1, 0)
    try:
        for file in files:
            place = survey(file, Selection(), ()).place_after(place, file)
            list(to_parquet([file], tmp_path, catalog=catalog, state=state))
            assert (place.epoch, place.seqno) == (state.epoch, state.seqno)
            assert unpacked(place.tables).fingerprint() == catalog.fingerprint()
    finally:
        for file in files:
            file.close()
    assert len(catalog) > 1


def test_logs_that_were_written_before_are_kept(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    alone, _, _ = export_logs(tmp_path / "alone", paths, 1)
    export_logs(tmp_path / "out", paths[:2], 1)
    shared, reports, _ = export_logs(tmp_path / "out", paths, 4)
    assert [report.kept for report in reports] == [True, True] + [False] * (len(paths) - 2)
    assert shared == alone
    again, reports, _ = export_logs(tmp_path / "out", paths, 4)
    assert all(report.kept for report in reports)
    assert again == alone


def test_a_selection_is_answered_from_all_logs(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    export_logs(tmp_path / "everything", paths, 1)
    gtids = [one for one in pq.read_table(tmp_path / "everything/transactions")["gtid"].to_pylist() if one]
    unknown = GtidSet.parse("11111111-1111-1111-1111-111111111111:7")
    selection = Selection(gtids=GtidSet.parse(",".join([gtids[0], gtids[-1]])) | unknown)
    alone, _, _ = export_logs(tmp_path / "alone", paths, 1, selection)
    for _ in range(2):
        shared, _, selector = export_logs(tmp_path / "shared", paths, 4, selection)
        assert shared == alone
        assert selector.missing() == unknown


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_a_limit_counts_over_all_logs(limit: int, tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    alone, reports, _ = export_logs(tmp_path / "alone", paths, 1, Selection(limit=limit))
    shared, _, _ = export_logs(tmp_path / "shared", paths, 6, Selection(limit=limit))
    assert shared == alone
    everything = export_logs(tmp_path / "everything", paths, 1)[1]
    expected = min(limit, sum(report.transactions for report in everything))
    assert sum(report.transactions for report in reports) == expected


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_stands_before_damage_is_committed_and_the_error_is_the_same(place: int, tmp_path: Path) -> None:
    paths = [*CHAINS["mysql-9.7/shop"][:4]]
    damage(paths, place, tmp_path)
    with pytest.raises(DamagedError) as alone:
        export_logs(tmp_path / "alone", paths, 1)
    with pytest.raises(DamagedError) as shared:
        export_logs(tmp_path / "shared", paths, 4)
    assert str(shared.value) == str(alone.value)
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
    assert len(list((tmp_path / "shared").glob("_manifest/*"))) == place
    assert not (tmp_path / "shared/_staging").exists()


def test_after_damage_that_is_salvaged_logs_go_on_from_what_is_known_then(tmp_path: Path) -> None:
    paths = [*CHAINS["mysql-9.7/shop"][:4]]
    damage(paths, 1, tmp_path)
    more = {"on_damage": OnDamage.SALVAGE}
    alone, _, _ = export_logs(tmp_path / "alone", paths, 1, more=more)
    shared, reports, _ = export_logs(tmp_path / "shared", paths, 6, more=more)
    assert shared == alone
    assert [bool(report.manifest["damage"]) for report in reports] == [False, True, False, False]


def test_whoever_takes_no_more_reports_ends_all_work(tmp_path: Path) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    files: list[BinlogFile] = open_files([str(path) for path in paths])
    try:
        reports = to_parquet(files, tmp_path / "out", options=ParquetOptions(jobs=4))
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


ROTATE = 19 + 8 + len("mysql-bin.000002") + 4
"""Bytes of the event that ends a log."""

MYSQL = CHAINS["mysql-9.7/shop"]

DUMP = """
USE `shop`;
CREATE DATABASE other CHARACTER SET latin1;
CREATE TABLE a (id INT UNSIGNED PRIMARY KEY, kind ENUM('x','y') DEFAULT 'x', n DECIMAL(10,2) DEFAULT -1.50,
  t TEXT, v INT GENERATED ALWAYS AS (id + 1) STORED, KEY k (n), UNIQUE KEY (kind, id)) DEFAULT CHARSET=latin1;
CREATE TABLE b AS SELECT 1;
CREATE TABLE A (`ä` SET('1','2') NOT NULL, hidden INT INVISIBLE, g POINT NOT NULL SRID 4326);
"""


def export_alone(folder: Path, paths: list[Path]) -> None:
    for path in paths:
        export(folder, [path])


def continuation_of(folder: Path, path: Path) -> Any:
    (file,) = open_files([str(path)])
    with file:
        return find_continuation(open_store(str(folder)), file)


def seqno(folder: Path, path: Path) -> int:
    """The number of a log's first transaction."""
    found = ask(f"SELECT min(seqno) FROM '{folder}/transactions/{path.name}.*.parquet'")
    ((number,),) = found
    return int(number)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_logs_one_by_one_give_the_same_bytes_as_all_at_once(chain: list[Path], tmp_path: Path) -> None:
    export(tmp_path / "once", chain)
    export_alone(tmp_path / "alone", chain)
    assert contents(tmp_path / "alone") == contents(tmp_path / "once")


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_logs_are_kept_where_the_server_has_removed_those_before(chain: list[Path], tmp_path: Path) -> None:
    export(tmp_path, chain)
    before = contents(tmp_path)
    assert all(report.kept for report in export(tmp_path, chain[1:]))
    assert contents(tmp_path) == before


def test_nothing_is_known_after_a_gap_until_that_is_filled(tmp_path: Path) -> None:
    first, second, third = MYSQL[:3]
    export(tmp_path / "once", [first, second, third])
    folder = tmp_path / "gap"
    export_alone(folder, [first, third])
    assert seqno(folder, third) == 1
    export_alone(folder, [second, third])
    assert seqno(folder, third) > 1
    for name, digest in contents(tmp_path / "once").items():
        assert contents(folder)[name] == digest


def test_a_log_that_is_still_written_says_nothing_of_what_comes_after(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    (tmp_path / first.name).write_bytes(first.read_bytes()[:-ROTATE])
    export(tmp_path / "lake", [tmp_path / first.name])
    assert continuation_of(tmp_path / "lake", second) is None


Spoil = Callable[[dict[str, Any]], object]
SPOILED: dict[str, Spoil] = {
    "of another kind of server": lambda told: told["source"].update(flavour="mariadb"),
    "that goes on elsewhere": lambda told: told["behind"].update(next="mysql-bin.000009"),
    "that ended long before": lambda told: told["behind"].update(ended=told["behind"]["ended"] - 60),
    "without its last transactions": lambda told: told.update(gtid_set=""),
    "with others' transactions": lambda told: told.update(
        gtid_set=f"{told['gtid_set']},00000000-0000-0000-0000-000000000001:1"
    ),
    "whose server was stopped": lambda told: told["behind"].update(next=None),
    "of a binx that left nothing": lambda told: told.pop("behind"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_only_the_log_right_before_says_what_is_known(spoil: Spoil, tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    assert continuation_of(tmp_path, second) is not None
    (manifest,) = (tmp_path / "_manifest").iterdir()
    told = json.loads(manifest.read_text("utf-8"))
    spoil(told)
    manifest.write_text(json.dumps(told), "utf-8")
    assert continuation_of(tmp_path, second) is None


def test_a_server_whose_id_has_changed_goes_on_where_gtids_say_that_it_is_the_same(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    (manifest,) = (tmp_path / "_manifest").iterdir()
    told = json.loads(manifest.read_text("utf-8"))
    told["source"]["server_id"] = 1
    manifest.write_text(json.dumps(told), "utf-8")
    assert continuation_of(tmp_path, second) is not None
    told["behind"]["gtids_before"] = None
    manifest.write_text(json.dumps(told), "utf-8")
    assert continuation_of(tmp_path, second) is None


def test_tables_that_are_gone_are_not_made_up(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    for record in (tmp_path / "schemas").glob("tables-*"):
        record.unlink()
    assert continuation_of(tmp_path, second) is None


@pytest.mark.parametrize(
    "data",
    [b"torn", gzip.compress(b'{"databases":{},"tables":[]}')],
    ids=["no gzip file", "the record of something else"],
)
def test_a_record_that_is_not_what_was_written_is_an_error_with_the_way_out(
    data: bytes, tmp_path: Path
) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    for record in (tmp_path / "schemas").glob("tables-*"):
        record.write_bytes(data)
    with pytest.raises(OutputError, match="delete it and export its log again"):
        continuation_of(tmp_path, second)


def test_a_dump_that_is_given_stands_for_all_that_was_known(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    (file,) = open_files([str(second)])
    catalog = Catalog()
    catalog.load_dump(DUMP)
    wanted = catalog.fingerprint()
    with file:
        (report,) = to_parquet([file], tmp_path, catalog=catalog)
    assert report.manifest["request"]["known_tables"] == wanted


def test_a_failed_commit_takes_the_tables_back(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "transactions").write_text("in the way", "utf-8")
    with pytest.raises(OutputError):
        export(tmp_path / "lake", MYSQL[:1])
    assert not list((tmp_path / "lake").glob("schemas/tables-*"))


def test_a_catalog_is_read_back_to_the_last_fact() -> None:
    catalog = Catalog()
    catalog.load_dump(DUMP)
    catalog.apply("ALTER TABLE shop.a ADD COLUMN z VARBINARY(3) DEFAULT x'00ff' INVISIBLE", "shop")
    catalog.apply("CREATE TABLE `odd\udcff` (c1 YEAR)", "shop")
    found = recorded_catalog(catalog_record(catalog))
    assert list(found) == sorted(catalog, key=lambda table: (table.db, table.name))
    assert found.databases == catalog.databases
    assert found.fingerprint() == catalog.fingerprint()
    assert {table.provenance for table in found} == {Provenance.DDL, Provenance.SCHEMA}
    assert catalog_record(found) == catalog_record(catalog)


def previous_gtids(last: int) -> bytes:
    """PREVIOUS_GTIDS with the numbers from 1 of the one server; none where the last is 0."""
    body = struct.pack("<Q", 1) + building.UUID + struct.pack("<QQQ", 1, 1, last + 1)
    return building.event(35, body if last else bytes(8))


@pytest.mark.parametrize(("known", "is_known"), [(1, True), (2, False), (0, False)])
def test_a_log_that_ends_with_its_servers_death_is_reported_by_its_gtids(
    known: int, is_known: bool, tmp_path: Path
) -> None:
    first, second = tmp_path / "mysql-bin.000001", tmp_path / "mysql-bin.000002"
    made = building.query("CREATE TABLE orders (amount INT)")
    first.write_bytes(building.whole_log(previous_gtids(0), building.gtid(1), made))
    second.write_bytes(building.whole_log(previous_gtids(known), building.gtid(9), made))
    export(tmp_path / "lake", [first])
    found = continuation_of(tmp_path / "lake", second)
    assert (found is not None) == is_known
    assert found is None or [table.name for table in found.catalog] == ["orders"]


def test_logs_can_be_forgotten_but_not_the_one_that_the_next_continues_from(tmp_path: Path) -> None:
    export(tmp_path / "whole", MYSQL)
    export_alone(tmp_path / "lake", MYSQL[:2])
    first, last = (path.name for path in MYSQL[:2])
    dataset = DataSet(tmp_path / "lake")
    with pytest.raises(RefusedError, match="continues from it"):
        dataset.forget(last)
    with pytest.raises(AbsentError):
        dataset.forget("mysql-bin.000099")
    [source] = dataset.forget(first)
    assert source.startswith(f"{first}.")
    assert not [path for path in (tmp_path / "lake").rglob(f"{source}*") if path.is_file()]
    export_alone(tmp_path / "lake", MYSQL[2:])
    found, whole = contents(tmp_path / "lake"), contents(tmp_path / "whole")
    assert found == {name: data for name, data in whole.items() if source not in name and name in found}
    assert {name for name in whole if "/changes" in f"/{name}" and source not in name} <= set(found)
