"""``history/`` holds every row image once, whatever the exports repeat."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.lake.dataset.files import ChangesFile, Version
from binx.lake.dataset.loaded_chains import ChangePosition, LoadedChain, LoadedChains
from binx.lake.dataset.loaded_chains import Log as ChainLog
from binx.lake.table_name import TableName
from binx.lake.tables.lacking import lacking_of
from binx.lake.tables.lives import FileSpan, TableHistory
from tests.lake.conftest import Load, Loaded, files_of
from tests.lake.dataset import Log, Name, Server, renumbered
from tests.lake.test_state import FIELDS, ORDERS, Rows, insert, orders
from tests.log.building import flip

OTHER: Name = ("shop", "visits")
ORDER = "_commit_version, _row, _change_type <> 'update_preimage'"


def history(output: Path, columns: str, table: Name = ORDERS) -> list[tuple[Any, ...]]:
    """Some columns of a table's history in the order of its changes, as DuckDB reads them."""
    source = f"read_parquet({files_of(output, table, 'history')}, union_by_name = true)"
    return duckdb.execute(f"SELECT {columns} FROM {source} ORDER BY {ORDER}").fetchall()


def logged(server: Server, *columns: str) -> list[tuple[Any, ...]]:
    return [
        (image.change, image.scn, image.row, *[image.values.get(name) for name in columns])
        for log in server.logs
        for image in log.images
    ]


def busy() -> Server:
    server = orders()
    for number in range(12):
        server.transaction(
            insert(number, f"n{number}", number), ("update", ORDERS, (number,), {"amount": -number})
        )
        if number % 4 == 3:
            server.rotate()
    return server


def test_all_images_are_there_in_order_under_the_date_of_their_commit(tmp_path: Path, load: Load) -> None:
    server = busy()
    server.export_all(tmp_path / "in", per_file=3)
    load(tmp_path / "in", tmp_path / "out")
    assert history(tmp_path / "out", "_change_type, _commit_version, _row, name") == logged(server, "name")
    dated = history(tmp_path / "out", "commit_date = CAST(_commit_timestamp AT TIME ZONE 'UTC' AS DATE)")
    assert set(dated) == {(True,)}
    days = {path.name for path in (tmp_path / "out/shop/orders/history").rglob("commit_date=*")}
    assert days == {"commit_date=2026-11-20", "commit_date=2026-11-21"}


def test_what_overlapping_exports_repeat_is_there_once(tmp_path: Path, load: Load) -> None:
    server = busy()
    log = server.logs[0]
    middle = log.images[6].scn
    server.export(tmp_path / "early", log, last=middle)
    server.export(tmp_path / "late", log, first=middle)
    server.export_all(tmp_path / "all")
    folders = [tmp_path / "early", tmp_path / "late", tmp_path / "all"]
    code, summary = load(folders, tmp_path / "out")
    assert code == 0
    assert history(tmp_path / "out", "_change_type, _commit_version, _row, name") == logged(server, "name")
    [table] = summary["tables"]
    assert table["loaded"] == 36


def test_a_log_that_grew_since_the_last_run_gives_only_its_new_transactions(
    tmp_path: Path, load: Load, loaded: Loaded
) -> None:
    server = busy()
    server.export(tmp_path / "in", server.logs[0], last=server.logs[0].images[6].scn)
    load(tmp_path / "in", tmp_path / "out")
    code, summary = loaded(server)
    assert code == 0
    [table] = summary["tables"]
    assert table["loaded"] == 36 - sum(i.scn <= server.logs[0].images[6].scn for i in server.logs[0].images)
    assert history(tmp_path / "out", "_change_type, _commit_version, _row, name") == logged(server, "name")


def test_of_exports_that_left_nothing_out_each_span_is_taken_once(tmp_path: Path, load: Load) -> None:
    server = busy()
    log = server.logs[0]
    server.export(tmp_path / "grown", log, last=log.images[6].scn, per_file=3, whole=True)
    load(tmp_path / "grown", tmp_path / "out")
    server.export_all(tmp_path / "grown", whole=True)
    server.export(tmp_path / "again", log, per_file=5, whole=True)
    server.export(tmp_path / "end", log, first=log.images[9].scn, whole=True)
    code, summary = load([tmp_path / name for name in ("end", "grown", "again")], tmp_path / "out")
    assert code == 0
    assert history(tmp_path / "out", "_change_type, _commit_version, _row, name") == logged(server, "name")
    [table] = summary["tables"]
    assert table["loaded"] == 36 - sum(image.scn <= log.images[6].scn for image in log.images)


def test_a_run_without_news_changes_nothing(tmp_path: Path, load: Load, loaded: Loaded) -> None:
    server = busy()
    loaded(server)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.name != "_lock"}
    code, summary = load(tmp_path / "in", tmp_path / "out")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.name != "_lock"}
    assert (code, summary["changed"], summary["load"], summary["new_manifests"]) == (0, False, 1, 0)
    assert before == after


def test_a_second_run_touches_only_the_tables_that_changed(tmp_path: Path, load: Load) -> None:
    server = orders()
    other: Name = ("shop", "other table")
    server.create(other, [("id", pa.int32())], ["id"])
    server.transaction(insert(1), ("insert", other, {"id": 1}))
    server.rotate()
    server.transaction(insert(2))
    server.export_all(tmp_path / "in")
    for log in server.logs[1:]:
        (tmp_path / "in/_manifest" / f"mysql-bin.{log.number:06}.1a2b3c4d.json").rename(
            tmp_path / "later.json"
        )
    load(tmp_path / "in", tmp_path / "out")
    (tmp_path / "later.json").rename(tmp_path / "in/_manifest/mysql-bin.000002.1a2b3c4d.json")
    before = [files_of(tmp_path / "out", table) for table in (ORDERS, other)]
    load(tmp_path / "in", tmp_path / "out")
    after = [files_of(tmp_path / "out", table) for table in (ORDERS, other)]
    assert [one == two for one, two in zip(before, after, strict=True)] == [False, True]


def test_files_that_no_manifest_lists_are_not_read(tmp_path: Path, load: Load) -> None:
    server = busy()
    server.export_all(tmp_path / "in")
    (tmp_path / "in/changes/shop/orders/mysql-bin.000009.1a2b3c4d-157-0.parquet").write_bytes(b"half a file")
    code, summary = load(tmp_path / "in", tmp_path / "out")
    assert (code, summary["tables"][0]["loaded"]) == (0, 36)


def test_a_table_without_a_key_has_history_only_until_a_key_is_given(
    tmp_path: Path, load: Load, loaded: Loaded
) -> None:
    server = Server()
    server.create(ORDERS, [("id", pa.int32()), ("Name", pa.string())], [])
    server.transaction(("insert", ORDERS, {"id": 1, "Name": "a"}), ("insert", ORDERS, {"id": 1, "Name": "b"}))
    code, summary = loaded(server)
    [table] = summary["tables"]
    assert (code, table["loaded"], table["current"]) == (0, 2, None)
    assert files_of(tmp_path / "out", ORDERS) == []
    code, summary = load(tmp_path / "in", tmp_path / "out", "--key", "shop.orders=ID,name")
    assert (code, summary["tables"][0]["current"]) == (0, 2)


def test_columns_may_be_called_like_the_loaders_own(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = Server()
    names = ["commit_date", "_line", "_moved", "_absent", "_rank", "v1", "p1", "chain", "_kind", "_scn"]
    server.create(ORDERS, [("id", pa.int32()), *[(name, pa.int32()) for name in names]], ["id", "_rank"])
    for key in (1, 2):
        values = {name: key * place for place, name in enumerate(names)}
        server.transaction(("insert", ORDERS, {"id": key, **values}))
    server.transaction(("update", ORDERS, (2, 8), {"_line": 77, "_rank": 9}))
    code, summary = loaded(server, "--scd2")
    assert code == 0, summary
    found = duckdb.execute(f"SELECT * FROM read_parquet({files_of(tmp_path / 'out', ORDERS)}) ORDER BY id")
    columns = [one[0] for one in found.description]
    listed = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    assert [{name: row[name] for name in ("id", *names)} for row in listed] == server.rows(ORDERS)


def test_a_transaction_that_two_servers_hold_counts_once(tmp_path: Path, load: Load, rows: Rows) -> None:
    """As after a failover: the replica's own logs begin with what it took over."""
    server = busy()
    server.export_all(tmp_path / "primary")
    server.logs = [renumbered(log, 40) for log in server.logs]
    server.server_id = 98
    server.rotate()
    server.transaction(("update", ORDERS, (0,), {"name": "after"}), ("delete", ORDERS, (1,)))
    server.export_all(tmp_path / "replica", identity="99999999", base="replica-bin")
    code, summary = load([tmp_path / "replica", tmp_path / "primary"], tmp_path / "out")
    [table] = summary["tables"]
    assert (code, table["listed"], table["current"]) == (0, 75, 11)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


@pytest.mark.parametrize("how", ["each", "each with damage", "at once"])
def test_a_server_that_takes_over_again_has_what_the_other_did_before_its_own(
    tmp_path: Path, load: Load, rows: Rows, how: str
) -> None:
    """Its later logs repeat what was loaded from the other's, and go on from there."""
    server = busy()
    primary, replica, out = tmp_path / "primary", tmp_path / "replica", tmp_path / "out"
    other = Server(98)

    def export(log: Log, *, is_primary: bool) -> None:
        server.export(primary, log, whole=True) if is_primary else other.export(
            replica, renumbered(log, 40), identity="99999999", base="replica-bin", whole=True
        )

    def rotate() -> None:
        if how != "at once":
            folders = [one for one in (primary, replica) if one.exists()]
            assert load(folders, out)[0] == 0
            assert rows(out, ORDERS) == server.rows(ORDERS)
        server.rotate()

    for log in server.logs:
        export(log, is_primary=True)
    rotate()
    server.transaction(("update", ORDERS, (0,), {"name": "other"}), ("delete", ORDERS, (1,)))
    server.alter(ORDERS, "ALTER TABLE orders ADD z INT", [*FIELDS, ("z", pa.int32())])
    server.transaction(insert(700, "other"))
    export(server.logs[-1], is_primary=False)
    rotate()
    server.transaction(("update", ORDERS, (0,), {"name": "first"}), insert(1, "again"))
    server.transaction(("delete", ORDERS, (700,)))
    for log in server.logs[-2:]:
        export(log, is_primary=True)
    if how == "each with damage":
        before = rows(out, ORDERS)
        for path in sorted((primary / "changes/shop/orders").iterdir())[-2:]:
            content = path.read_bytes()
            path.write_bytes(content[:-8] + bytes(8))
            assert load([primary, replica], out)[0] == 1
            assert rows(out, ORDERS) == before
            assert load([primary, replica], out, "--rebuild", "shop.orders")[0] == 1
            path.write_bytes(content)
    export(server.logs[-1], is_primary=False)
    rotate()
    server.transaction(insert(2000, "other"), ("update", ORDERS, (0,), {"name": "last"}))
    export(server.logs[-1], is_primary=False)
    load([primary, replica], out)
    assert rows(out, ORDERS) == server.rows(ORDERS)
    assert load([primary, replica], out, "--rebuild", "shop.orders")[0] == 0
    assert rows(out, ORDERS) == server.rows(ORDERS)
    images = [(image.scn & 0xFFFFFFFF, image.change) for log in server.logs for image in log.images]
    assert len(history(out, "id")) == len(images)


def test_gtids_that_a_server_gives_anew_are_of_other_transactions(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows
) -> None:
    """As after RESET BINARY LOGS AND GTIDS, where logs and GTIDs are numbered from 1 again."""
    server = busy()
    loaded(server)
    server.logs, server.transactions = [], 0
    server.rotate(1)
    for number in range(50, 60):
        server.transaction(insert(number, "later"))
    server.export_all(tmp_path / "later", identity="99999999")
    code, summary = load([tmp_path / "in", tmp_path / "later"], tmp_path / "out")
    assert (code, [table["loaded"] for table in summary["tables"]]) == (0, [10])
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_statements_of_gtids_given_anew_are_followed_as_well(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows
) -> None:
    server = orders()
    server.transaction(insert(1), insert(2))
    loaded(server)
    server.logs, server.transactions = [], 0
    server.rotate(1)
    server.truncate(ORDERS)
    server.transaction(insert(3, "later"))
    server.export_all(tmp_path / "later", identity="99999999")
    code, _ = load([tmp_path / "in", tmp_path / "later"], tmp_path / "out")
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


@pytest.mark.parametrize("is_first_kept", [True, False])
def test_a_gtid_given_anew_is_not_that_of_a_prepared_transaction(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows, is_first_kept: bool
) -> None:
    """Whichever of the two transactions was prepared, and never committed."""
    server = orders()
    prepared = "X'61',X'',1"
    change = insert(1, "earlier")
    if is_first_kept:
        server.transaction(change)
    else:
        server.xa(prepared, change)
    loaded(server)
    server.logs, server.transactions = [], 1
    server.rotate(1)
    if is_first_kept:
        server.xa(prepared, insert(2, "later"))
    else:
        server.transaction(insert(2, "later"))
    server.export_all(tmp_path / "later", identity="99999999")
    code, _ = load([tmp_path / "in", tmp_path / "later"], tmp_path / "out")
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS) != []
    # Also where all of it is loaded at once.
    load([tmp_path / "in", tmp_path / "later"], tmp_path / "at_once")
    assert rows(tmp_path / "at_once", ORDERS) == server.rows(ORDERS)


def test_a_prepared_transaction_holds_once_a_replica_whose_logs_come_before_says_so(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    """Its rows stand in history as those of the chain that came first."""
    server = orders()
    server.transaction(insert(1))
    end = server.xa("X'61',X'',1", insert(2))
    server.export_all(tmp_path / "primary")
    load(tmp_path / "primary", tmp_path / "out")
    assert [row["id"] for row in rows(tmp_path / "out", ORDERS)] == [1]
    end("COMMIT")
    replica = Server(98)
    replica.logs, replica.versions = [renumbered(log, 7) for log in server.logs], server.versions
    replica.logs[0].versions = server.logs[0].versions
    replica.export_all(tmp_path / "replica", identity="00000000", base="replica-bin")
    code, _ = load([tmp_path / "replica", tmp_path / "primary"], tmp_path / "out")
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert len(server.rows(ORDERS)) == 2


def two_tables() -> Server:
    server = busy()
    server.create(OTHER, [("id", pa.int32())], ["id"])
    server.transaction(("insert", OTHER, {"id": 1}))
    return server


def test_a_manifest_that_does_not_add_up_stops_its_table_until_it_is_mended(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_tables()
    server.export_all(tmp_path / "in")
    path = sorted((tmp_path / "in/_manifest").iterdir())[1]
    whole = path.read_text()
    manifest = json.loads(whole)
    manifest["conservation"][0]["images"] += 1
    path.write_text(json.dumps(manifest))
    for _ in range(2):
        code, summary = load(tmp_path / "in", tmp_path / "out")
        errors = {table["table"]: table["error"] for table in summary["tables"]}
        assert (code, errors["visits"], "does not add up" in errors["orders"]) == (1, None, True)
        assert rows(tmp_path / "out", OTHER) == server.rows(OTHER)
    path.write_text(whole)
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_a_file_that_is_not_what_its_manifest_says_stops_its_table(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_tables()
    server.export_all(tmp_path / "in")
    one, other, *_ = sorted((tmp_path / "in/changes/shop/orders").iterdir())
    whole = other.read_bytes()
    content = pq.read_table(other)

    def broken() -> str:
        code, summary = load(tmp_path / "in", tmp_path / "out")
        assert code == 1
        assert rows(tmp_path / "out", OTHER) == server.rows(OTHER)
        return next(str(table["error"]) for table in summary["tables"] if table["table"] == "orders")

    pq.write_table(content.slice(1), other)
    assert "12 rows" in broken()
    pq.write_table(content.drop_columns("_commit_version"), other)
    assert other.name in broken()
    other.write_bytes(one.read_bytes()[:-9])
    assert other.name in broken()
    other.unlink()
    assert other.name in broken()
    other.write_bytes(whole)
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_a_log_that_leaves_the_data_set_before_a_table_took_it_is_missed(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_tables()
    server.export_all(tmp_path / "in", whole=True)
    shutil.copytree(tmp_path / "in", tmp_path / "copy")
    assert load(tmp_path / "in", tmp_path / "out", "--table", "shop.visits")[0] == 0
    manifest = sorted((tmp_path / "in/_manifest").iterdir())[1]
    for entry in json.loads(manifest.read_text())["files"]:
        if entry["kind"] != "schema":
            (tmp_path / "in" / entry["path"]).unlink()
    manifest.unlink()
    for _ in range(2):
        code, summary = load(tmp_path / "in", tmp_path / "out")
        errors = {table["table"]: "cannot be loaded" in (table["error"] or "") for table in summary["tables"]}
        assert (code, errors) == (1, {"orders": True, "visits": False})
    assert load(tmp_path / "copy", tmp_path / "out")[0] == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert rows(tmp_path / "out", OTHER) == server.rows(OTHER)


@pytest.mark.parametrize("first", [0, 1])
def test_rows_that_a_condition_left_out_are_not_held_for_repeated(
    tmp_path: Path, load: Load, first: int
) -> None:
    """Whichever of both exports is loaded first, the other one has rows of the same transactions."""
    server = orders()
    server.transaction(insert(1), insert(2))
    log = server.logs[0]
    server.export(tmp_path / "whole", log, whole=True)
    log.images = log.images[:1]
    server.export(tmp_path / "where", log)
    path = next((tmp_path / "where/_manifest").iterdir())
    manifest = json.loads(path.read_text())
    manifest["request"]["where"] = "id = 1"
    path.write_text(json.dumps(manifest))
    folders = [tmp_path / "where", tmp_path / "whole"]
    load(folders[first], tmp_path / "out")
    code, summary = load(folders, tmp_path / "out")
    [table] = summary["tables"]
    assert (code, "made with --where" in (table["error"] or "")) == ((1, True) if first == 0 else (0, False))


def test_a_changed_file_is_found_by_its_hash(tmp_path: Path, load: Load) -> None:
    server = busy()
    server.export_all(tmp_path / "in")
    file = next((tmp_path / "in/changes/shop/orders").iterdir())
    flip(file, 10)
    code, summary = load(tmp_path / "in", tmp_path / "out", "--verify")
    assert code == 1
    assert file.name in summary["tables"][0]["error"]


def test_losses_of_the_export_are_reported_and_change_the_exit_code(tmp_path: Path, load: Load) -> None:
    server = busy()
    server.export_all(tmp_path / "in", losses=[{"offset": 4711, "reason": "damaged"}])
    code, summary = load(tmp_path / "in", tmp_path / "out")
    assert code == 3
    assert all("4711" in table["reasons"][0] for table in summary["tables"])


def test_an_empty_folder_is_no_data_set(tmp_path: Path, load: Load) -> None:
    code, answer = load(tmp_path, tmp_path / "out")
    assert code == 4
    assert "has no _manifest/*.json" in answer["error"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [("--table", "shop.nothing"), ("--chain", "4711"), ("--at", "nonsense")])
def test_an_option_that_does_not_fit_leaves_nothing_behind(
    tmp_path: Path, load: Load, option: tuple[str, str]
) -> None:
    busy().export_all(tmp_path / "in")
    assert load(tmp_path / "in", tmp_path / "out", *option)[0] in (2, 4)
    assert not (tmp_path / "out").exists()


def test_small_files_of_history_are_joined_and_nothing_else_changes(tmp_path: Path, load: Load) -> None:
    server = orders()
    for number in range(6):
        server.transaction(insert(number), insert(number + 50))
        if number == 3:
            server.alter(ORDERS, "ALTER TABLE orders ADD more INT", [*FIELDS, ("more", pa.int32())])
        server.rotate()
    for log in server.logs[:-1]:
        server.export(tmp_path / "in", log, whole=True)
        assert load(tmp_path / "in", tmp_path / "out", "--scd2")[0] == 0

    def rows(name: str) -> list[Any]:
        connection = duckdb.connect()
        connection.execute((tmp_path / "out/views.sql").read_text())
        return sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)

    def state() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((tmp_path / "out/_state.json").read_text())
        return found

    views = ("shop.orders", "shop.orders_history", "shop.orders_versions")
    before = [rows(view) for view in views]
    count, ranges = len(state()["history"]), next(iter(state()["lives"].values()))["ranges"]
    code, _ = load(tmp_path / "in", tmp_path / "out", "--compact")
    assert (code, len(state()["history"]), next(iter(state()["lives"].values()))["ranges"]) == (0, 2, ranges)
    assert count > 4
    assert [rows(view) for view in views] == before
    assert load(tmp_path / "in", tmp_path / "out")[1]["changed"] is False
    server.transaction(insert(99))
    server.export(tmp_path / "in", server.logs[-1], whole=True)
    assert load(tmp_path / "in", tmp_path / "out")[1]["tables"][0]["current"] == 13
    assert load(tmp_path / "in", tmp_path / "out", "--rebuild", "shop.orders")[0] == 0
    assert len(rows("shop.orders")) == 13


@pytest.mark.parametrize("cause", ["late", "rebuild", "more"])
def test_a_day_of_more_than_eight_files_becomes_one_by_itself(tmp_path: Path, load: Load, cause: str) -> None:
    """An hour's log a load, for a day: what is loaded stays the same, and files go two loads later."""
    server, counts = orders(), []
    for number in range(13):
        server.transaction(insert(number, f"n{number}"), insert(number + 50))
        if number:
            server.transaction(("update", ORDERS, (number - 1,), {"name": "later"}))
        if cause != "late" or number != 2:
            server.export(tmp_path / "in", server.logs[-1], whole=True)
            assert load(tmp_path / "in", tmp_path / "out", "--scd2")[0] in (0, 3)
            counts.append(len(files_of(tmp_path / "out", ORDERS, "history")))
        server.rotate()
    days = {Path(file).parent for file in files_of(tmp_path / "out", ORDERS, "history")}
    assert max(counts) <= 8 * len(days)
    assert min(counts[9:]) < 9
    if cause == "late":
        server.export(tmp_path / "in", server.logs[2], whole=True)
        assert load(tmp_path / "in", tmp_path / "out", "--scd2")[0] == 0
    if cause == "rebuild":
        assert load(tmp_path / "in", tmp_path / "out", "--rebuild", "shop.orders")[0] == 0
    assert history(tmp_path / "out", "_change_type, _commit_version, _row, name") == logged(server, "name")
    assert load(tmp_path / "in", tmp_path / "out")[1]["changed"] is False
    connection = duckdb.connect()
    connection.execute((tmp_path / "out/views.sql").read_text())
    found = connection.execute("SELECT id, name FROM shop.orders ORDER BY id").fetchall()
    assert found == [
        (row["id"], row["name"]) for row in sorted(server.rows(ORDERS), key=lambda row: row["id"])
    ]


def test_mariadb_servers_that_take_turns_without_repeating_each_other_are_reported() -> None:
    """Each goes on counting where the other ended."""

    def told(*logs: tuple[int, int, int, int]) -> list[str]:
        """Logs as server, number, and their first and last transaction."""
        chains, life = LoadedChains(), TableHistory("t", TableName("shop", "t"), whole=True)
        for server, number, first, last in logs:
            name = f"{server}:log"
            chain = chains.by_name.setdefault(name, LoadedChain(name, server, "log"))
            gtids = GtidSet([(DomainSource(0, server), first, last)])
            chain.gtids |= gtids
            chain.logs[number] = ChainLog("", 0, last=GtidSet([(DomainSource(0, server), last, last)]))
            file = ChangesFile("", TableName("shop", "t"), "", name, "", "", 1, 1, number << 32, number << 32)
            life.units.append(
                FileSpan(file, Version("", ()), ChangePosition(0, 0), file.first, file.last, 0, ())
            )
        return lacking_of(life, chains, {"1:log": 0, "2:log": 1})

    assert told((1, 1, 1, 50), (1, 2, 51, 70), (2, 1, 71, 90)) == []
    assert "1:log and 2:log took turns" in told((1, 1, 1, 70), (2, 1, 71, 90), (1, 2, 91, 99))[0]
