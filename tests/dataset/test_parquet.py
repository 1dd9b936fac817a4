"""``to-parquet``: layout, sums, selection, and the same bytes for the same input."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import struct
from collections import Counter
from errno import ENOSPC
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from binx.dataset import finder as finding
from binx.dataset import source_files
from binx.dataset.parquet_file import ParquetFile
from binx.errors import DamagedError, OutputError, RefusedError, TruncatedError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import Selection
from binx.rows.decoder import DecoderOptions
from tests.conftest import TESTDATA
from tests.exports import contents, export
from tests.log import building

SHOP = TESTDATA / "mysql-9.7" / "shop"
CHAIN = sorted(SHOP.glob("mysql-bin.0*"))
COUNTED = json.loads((SHOP / "expected" / "files.json").read_text("utf-8"))["files"]


def ask(query: str) -> list[Any]:
    """What DuckDB answers."""
    answer: list[Any] = duckdb.connect().execute(query).fetchall()
    return answer


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    export(folder, CHAIN)
    return folder


@pytest.fixture(scope="module")
def manifests(dataset: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted((dataset / "_manifest").glob("*.json"))]


def test_every_source_has_a_manifest_and_every_file_is_listed(
    dataset: Path, manifests: list[dict[str, Any]]
) -> None:
    assert [manifest["source"]["name"] for manifest in manifests] == [path.name for path in CHAIN]
    listed = {entry["path"] for manifest in manifests for entry in manifest["files"]}
    listed |= {manifest["behind"]["tables"] for manifest in manifests}
    found = {name for name in contents(dataset) if not name.startswith("_manifest/")}
    assert found == listed | {name.replace(".json", ".avsc") for name in listed if name.endswith(".json")}


def test_the_manifest_names_size_and_hash_of_every_file(
    dataset: Path, manifests: list[dict[str, Any]]
) -> None:
    for manifest in manifests:
        for entry in manifest["files"]:
            if entry["kind"] != "schema":
                data = (dataset / entry["path"]).read_bytes()
                assert (entry["bytes"], entry["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


def test_the_manifest_names_the_source_by_its_hash(manifests: list[dict[str, Any]]) -> None:
    for manifest, path in zip(manifests, CHAIN, strict=True):
        assert manifest["source"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert manifest["source"]["bytes"] == path.stat().st_size


def test_rows_per_table_and_operation_are_those_that_the_servers_own_reader_counts(
    manifests: list[dict[str, Any]],
) -> None:
    for manifest in manifests:
        counted = COUNTED[manifest["source"]["name"]]
        found = {
            f"{table['db']}.{table['table']}": {
                kind: table[f"{kind}s"] for kind in ("insert", "update", "delete") if table[f"{kind}s"]
            }
            for table in manifest["tables"]
        }
        assert found == normalised(counted["tables"])


def normalised(tables: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    singular = {"inserts": "insert", "updates": "update", "deletes": "delete"}
    return {
        name: {singular.get(kind, kind): count for kind, count in counts.items() if count}
        for name, counts in tables.items()
    }


def test_what_was_written_is_what_was_in_the_log(dataset: Path, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        for sums in manifest["conservation"]:
            assert sums["images"] == sums["written"] + sums["filtered"] + sums["undecodable"]
            rows = sum(
                pq.read_metadata(dataset / entry["path"]).num_rows
                for entry in manifest["files"]
                if (entry.get("db"), entry.get("table"), entry["kind"])
                == (sums["db"], sums["table"], "changes")
            )
            assert rows == sums["written"]


def test_the_last_gtid_set_is_what_the_server_had_executed(manifests: list[dict[str, Any]]) -> None:
    executed = json.loads((SHOP / "expected" / "tables.json").read_text("utf-8"))["gtid_executed"]
    union = GtidSet()
    for manifest in manifests:
        union |= GtidSet.parse(manifest["gtid_set"])
    assert union == GtidSet.parse(executed)


def test_duckdb_reads_every_table_with_the_types_of_the_contract(dataset: Path) -> None:
    rows = ask(f"describe select * from '{dataset}/changes/shop/orders/*.parquet'")
    types = {row[0]: row[1] for row in rows}
    assert types["_commit_version"] == "BIGINT"
    assert types["_commit_timestamp"] == "TIMESTAMP WITH TIME ZONE"
    assert types["total"] == "DECIMAL(12,2)"


def test_commit_versions_order_all_changes_of_the_chain(dataset: Path) -> None:
    query = (
        f"select commit_version, start, file from '{dataset}/transactions/*.parquet' order by commit_version"
    )
    found = ask(query)
    assert [(name, start) for _, start, name in found] == sorted((name, start) for _, start, name in found)
    assert {name for _, _, name in found} == {path.name for path in CHAIN}
    for version, start, name in found:
        assert version == int(name.rsplit(".", 1)[1]) << 32 | start


def test_sequence_numbers_of_a_chain_have_no_gap(dataset: Path) -> None:
    query = f"select seqno from '{dataset}/transactions/*.parquet' order by commit_version"
    numbers = [row[0] for row in ask(query)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_each_file_says_which_schema_version_it_has(dataset: Path, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        for entry in manifest["files"]:
            if entry["kind"] == "changes":
                metadata = pq.read_schema(dataset / entry["path"]).metadata
                assert metadata[b"binx.schema_version"].decode() == entry["schema_version"]
                folder = dataset / "schemas" / Path(entry["path"]).parent.relative_to("changes")
                record = json.loads((folder / f"{entry['schema_version']}.json").read_text("utf-8"))
                assert (record["db"], record["table"]) == (entry["db"], entry["table"])


@pytest.mark.parametrize("damaged", [1, 3, -1])
@pytest.mark.parametrize("jobs", [1, 4])
def test_damage_is_reported_alike_however_far_ahead_it_is_found(
    jobs: int, damaged: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is before the damaged log is committed, of the log itself nothing."""
    monkeypatch.setattr(finding, "STEP_BYTES", 4000)
    path = tmp_path / CHAIN[1].name
    data = bytearray(CHAIN[1].read_bytes())
    place = len(data) * damaged // 4 if damaged > 0 else len(data) - 40
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedError) as alone:
        export(tmp_path / "alone", [CHAIN[0], path], jobs=1)
    with pytest.raises(DamagedError) as found:
        export(tmp_path / "out", [CHAIN[0], path], jobs=jobs)
    assert str(found.value) == str(alone.value)
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")
    assert len(list((tmp_path / "out" / "_manifest").iterdir())) == 1


@pytest.mark.parametrize("jobs", [1, 6])
def test_a_disk_that_is_full_ends_it_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """The first source is committed; of the one whose row group cannot be written nothing is left."""
    export(tmp_path, CHAIN[:1])
    before = contents(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(ParquetFile, "_write", fail)
    with pytest.raises(OutputError, match="no space left"):
        export(tmp_path, CHAIN, jobs=jobs)
    monkeypatch.undo()
    assert contents(tmp_path) == before
    assert len(export(tmp_path, CHAIN)) == len(CHAIN)


def test_the_same_log_given_twice_is_written_once(tmp_path: Path) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    export(once, CHAIN[:1])
    assert len(export(twice, [CHAIN[0], CHAIN[0]])) == 2
    changes = [
        {name: digest for name, digest in contents(folder).items() if name.startswith("changes/")}
        for folder in (once, twice)
    ]
    assert changes[0] == changes[1]


def test_a_kept_source_still_names_the_columns_of_the_next(tmp_path: Path) -> None:
    shop = TESTDATA / "mariadb-10.11" / "shop"
    chain = sorted(shop.glob("mysql-bin.0*"))[:2]
    export(tmp_path, chain[:1])
    reports = export(tmp_path, chain)
    assert [report.kept for report in reports] == [True, False]
    assert reports[1].manifest["warnings"] == []


def test_a_selection_takes_whole_transactions_and_accounts_for_the_rest(tmp_path: Path) -> None:
    demo = json.loads((SHOP / "demo.json").read_text("utf-8"))
    (report,) = export(tmp_path, [SHOP / demo["file"]], Selection(gtids=GtidSet.parse(demo["gtid"])))
    assert report.transactions == 1
    assert report.manifest["gtid_set"] == demo["gtid"]
    found = {
        f"{table['db']}.{table['table']}": {
            kind: table[f"{kind}s"] for kind in ("insert", "update", "delete") if table[f"{kind}s"]
        }
        for table in report.manifest["tables"]
    }
    assert found == normalised(demo["tables"])


def test_statements_that_a_selection_left_out_are_counted(dataset: Path, tmp_path: Path) -> None:
    (written,) = (dataset / "statements").glob(f"{CHAIN[0].name}.*")
    statements = pq.read_table(written, columns=["commit_version"], partitioning=None)
    (report,) = export(tmp_path, CHAIN[:1], Selection(min_bytes=1 << 40))
    assert report.manifest["statements_left_out"] == len(pc.unique(statements["commit_version"]))


def test_a_table_pattern_leaves_out_the_rows_of_other_tables(tmp_path: Path) -> None:
    (report,) = export(tmp_path, CHAIN[:1], Selection(tables=("shop.orders",)))
    changed = {entry["table"] for entry in report.manifest["files"] if entry["kind"] == "changes"}
    assert changed == {"orders"}
    for sums in report.manifest["conservation"]:
        assert sums["written" if sums["table"] != "orders" else "filtered"] == 0


@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4", "none"])
def test_every_compression_holds_the_same_rows(compression: str, dataset: Path, tmp_path: Path) -> None:
    export(tmp_path, CHAIN[:1], compression=compression)
    for path in changes_of(CHAIN[0], tmp_path, dataset):
        other = pq.read_table(dataset / path, partitioning=None)
        assert pq.read_table(tmp_path / path, partitioning=None).equals(other)


def test_little_memory_makes_smaller_row_groups_and_the_same_rows(dataset: Path, tmp_path: Path) -> None:
    export(tmp_path, CHAIN[3:4], decoder=DecoderOptions(memory=64 * 1024))
    more = 0
    for path in changes_of(CHAIN[3], tmp_path, dataset):
        small, other = pq.ParquetFile(tmp_path / path), pq.ParquetFile(dataset / path)
        assert small.read().to_pylist() == other.read().to_pylist()
        more += small.num_row_groups > other.num_row_groups
    assert more > 0


def test_a_file_of_many_columns_ends_before_its_foot_takes_much_memory(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "CHUNKS", 100)
    (report,) = export(tmp_path, CHAIN[3:4], decoder=DecoderOptions(memory=64 * 1024))
    files = Counter(
        (entry["db"], entry["table"]) for entry in report.manifest["files"] if entry["kind"] == "changes"
    )
    assert max(files.values()) > 1
    for db, table in [name for name in files if name[0] == "shop"]:
        pattern = f"changes/{db}/{table}/{CHAIN[3].name}.*"
        order = "_commit_version, _row, _change_type"
        rows = [
            ask(f"SELECT * FROM read_parquet('{folder / pattern}', union_by_name = true) ORDER BY {order}")
            for folder in (dataset, tmp_path)
        ]
        assert rows[0] == rows[1]


def changes_of(log: Path, made: Path, whole: Path) -> list[Path]:
    """The files of a log's row changes in a data set of its own: those that it has among others' too."""
    pattern = f"changes/*/*/{log.name}.*.parquet"
    found = sorted(path.relative_to(made) for path in made.glob("changes/*/*/*.parquet"))
    assert found == sorted(path.relative_to(whole) for path in whole.glob(pattern))
    assert found
    return found


def test_the_rows_of_a_rolled_back_transaction_are_left_out_and_counted(tmp_path: Path) -> None:
    path = TESTDATA / "mariadb-10.11" / "small" / "rollback.binlog"
    (report,) = export(tmp_path, [path])
    kinds = pq.read_table(tmp_path / "transactions", partitioning=None).column("kind").to_pylist()
    assert "rollback" in kinds
    for sums in report.manifest["conservation"]:
        assert sums["images"] == sums["written"] + sums["filtered"]


@pytest.mark.parametrize(("version", "is_doubtful"), [("5.1.73-log", True), ("5.5.62", False)])
def test_rows_of_a_rolled_back_transaction_that_an_old_server_may_have_kept_are_a_loss(
    version: str, is_doubtful: bool, tmp_path: Path
) -> None:
    new_rows = building.rows(1, 2)
    # Version 1 of the event has no extra data.
    old_rows = building.event(23, new_rows[19:27] + new_rows[29:])
    log = building.whole_log(building.BEGIN, building.table_map(), old_rows, building.ROLLBACK)
    # These servers knew 27 types of events, and no checksum.
    head = bytearray(log[4 : 4 + 19 + 57 + 27])
    end = 4 + struct.unpack_from("<I", log, 4 + 9)[0]
    head[9:13], head[21:71] = struct.pack("<I", len(head)), version.encode().ljust(50, b"\0")
    path = tmp_path / "log.000001"
    path.write_bytes(log[:4] + head + log[end:])
    (report,) = export(tmp_path / "set", [path])
    entry = report.manifest["conservation"][0]
    assert (entry["images"], entry["written"], entry["filtered"]) == (2, 0, 2)
    losses = report.manifest["losses"]
    assert len(losses) == is_doubtful
    assert all(loss.startswith("shop.orders: 2 row changes left out") for loss in losses)


def test_a_cut_source_is_not_committed_and_those_before_it_are(tmp_path: Path) -> None:
    cut = tmp_path / "logs" / "mysql-bin.000002"
    cut.parent.mkdir()
    cut.write_bytes(CHAIN[1].read_bytes()[:-200])
    folder = tmp_path / "set"
    with pytest.raises(TruncatedError, match="truncated inside"):
        export(folder, [CHAIN[0], cut])
    assert [path.name.split(".")[1] for path in (folder / "_manifest").glob("*.json")] == ["000001"]
    assert not (folder / "_staging").exists()
    assert not list(folder.glob("**/mysql-bin.000002*"))


def test_a_source_that_grew_replaces_what_it_was(tmp_path: Path) -> None:
    in_use = TESTDATA / "mysql-9.7" / "in-use" / "mysql-bin.000001"
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(in_use.read_bytes()[:-300])
    (short,) = export(tmp_path / "set", [log])
    shutil.copy(in_use, log)
    (whole,) = export(tmp_path / "set", [log])
    assert not whole.kept
    assert short.transactions < whole.transactions
    (again,) = export(tmp_path / "other", [log])
    assert again.manifest == whole.manifest
    log.write_bytes(in_use.read_bytes()[:-300])
    with pytest.raises(RefusedError, match="copy the log again"):
        export(tmp_path / "set", [log])


def test_logs_without_a_number_have_a_data_set_each(tmp_path: Path) -> None:
    """What orders the changes of several logs is the number in their names."""
    first, second = tmp_path / "download", tmp_path / "binlog-2026-11-21"
    for path, log in zip((first, second), CHAIN, strict=False):
        path.write_bytes(log.read_bytes())
    with pytest.raises(RefusedError, match=r"name to end in its number.* found download"):
        export(tmp_path / "set", [first, second])
    assert not (tmp_path / "set").exists()
    export(tmp_path / "set", [first])
    export(tmp_path / "set", [first])
    for other in (second, CHAIN[1]):
        with pytest.raises(RefusedError, match=r"found (download|binlog-2026-11-21)"):
            export(tmp_path / "set", [other])
    assert len(list((tmp_path / "set" / "_manifest").iterdir())) == 1


def test_spark_gets_no_type_that_it_misreads(dataset: Path) -> None:
    """Small unsigned integers, nanoseconds, 256-bit decimals and times of day read as wrong values there."""
    bad = {pa.uint8(), pa.uint16(), pa.uint32()}
    fields = [field for path in dataset.glob("changes/*/*/*.parquet") for field in pq.read_schema(path)]
    assert fields
    for field in fields:
        assert field.type not in bad
        assert not pa.types.is_decimal256(field.type)
        assert not pa.types.is_time(field.type)


@pytest.mark.parametrize("fails", [".avsc", ".json"])
def test_a_disk_that_is_full_at_a_schema_record_leaves_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    written: list[str] = []
    replace = os.replace

    def rename(path: str | Path, target: str | Path) -> None:
        if str(target).endswith(fails) and len(written) > 4:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        written.append(str(target))
        replace(path, target)

    monkeypatch.setattr(os, "replace", rename)
    with pytest.raises(OutputError, match="space"):
        export(tmp_path, CHAIN[:1])
    assert contents(tmp_path) == {}
    monkeypatch.undo()
    export(tmp_path, CHAIN[:1])
    assert contents(tmp_path)
