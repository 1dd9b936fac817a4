"""Logs that are exported one by one become what they are when all are given at once."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.continuation import find_behind
from binx.dataset.dataset import DataSet
from binx.dataset.parquet import to_parquet
from binx.errors import AbsentError, OutputError, RefusedError
from binx.log.file import open_files
from binx.rows.columns.schema import Provenance
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.storage.store import open_store
from tests.dataset.test_chain import CHAINS
from tests.dataset.test_parquet import ask, contents, export
from tests.log import building

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


def behind(folder: Path, path: Path) -> Any:
    (file,) = open_files([str(path)])
    with file:
        return find_behind(open_store(str(folder)), file)


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


def test_nothing_is_known_behind_a_gap_until_that_is_filled(tmp_path: Path) -> None:
    first, second, third = MYSQL[:3]
    export(tmp_path / "once", [first, second, third])
    folder = tmp_path / "gap"
    export_alone(folder, [first, third])
    assert seqno(folder, third) == 1
    export_alone(folder, [second, third])
    assert seqno(folder, third) > 1
    for name, digest in contents(tmp_path / "once").items():
        assert contents(folder)[name] == digest


def test_a_log_that_is_still_written_tells_nothing_of_what_is_behind(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    (tmp_path / first.name).write_bytes(first.read_bytes()[:-ROTATE])
    export(tmp_path / "lake", [tmp_path / first.name])
    assert behind(tmp_path / "lake", second) is None


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
def test_only_the_log_right_before_tells_what_is_known(spoil: Spoil, tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    assert behind(tmp_path, second) is not None
    (manifest,) = (tmp_path / "_manifest").iterdir()
    told = json.loads(manifest.read_text("utf-8"))
    spoil(told)
    manifest.write_text(json.dumps(told), "utf-8")
    assert behind(tmp_path, second) is None


def test_a_server_whose_id_has_changed_goes_on_where_gtids_say_that_it_is_the_same(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    (manifest,) = (tmp_path / "_manifest").iterdir()
    told = json.loads(manifest.read_text("utf-8"))
    told["source"]["server_id"] = 1
    manifest.write_text(json.dumps(told), "utf-8")
    assert behind(tmp_path, second) is not None
    told["behind"]["gtids_before"] = None
    manifest.write_text(json.dumps(told), "utf-8")
    assert behind(tmp_path, second) is None


def test_tables_that_are_gone_are_not_made_up(tmp_path: Path) -> None:
    first, second = MYSQL[:2]
    export(tmp_path, [first])
    for record in (tmp_path / "schemas").glob("tables-*"):
        record.unlink()
    assert behind(tmp_path, second) is None


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
        behind(tmp_path, second)


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
def test_a_log_that_ends_with_its_servers_death_is_told_by_its_gtids(
    known: int, is_known: bool, tmp_path: Path
) -> None:
    first, second = tmp_path / "mysql-bin.000001", tmp_path / "mysql-bin.000002"
    made = building.query("CREATE TABLE orders (amount INT)")
    first.write_bytes(building.whole_log(previous_gtids(0), building.gtid(1), made))
    second.write_bytes(building.whole_log(previous_gtids(known), building.gtid(9), made))
    export(tmp_path / "lake", [first])
    found = behind(tmp_path / "lake", second)
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
