"""``binx to-parquet``, ``diff`` and ``why``: options, summaries, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.compare.test_differences import altered
from tests.conftest import TESTDATA


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_log_is_reported_and_the_second_run_keeps_all(shop: Shop, tmp_path: Path) -> None:
    first = binx("to-parquet", "--json", *shop.logs, "-o", tmp_path / "lake")
    assert first.code == 0
    told = documents(first.out)
    assert [one["transactions"] for one in told] == [file["transactions"] for file in shop.files.values()]
    assert {one["state"] for one in told} == {"written"}
    assert len(list((tmp_path / "lake" / "_manifest").glob("*.json"))) == len(shop.logs)
    again = binx("to-parquet", "--json", *shop.logs, "-o", tmp_path / "lake")
    assert [one | {"state": "written"} for one in documents(again.out)] == told
    assert {one["state"] for one in documents(again.out)} == {"kept"}


def test_a_log_that_the_next_one_completes_says_which_that_is(tmp_path: Path) -> None:
    """A bar that wraps what logs are read from would hide that, and that logs are files read side by side."""
    logs = sorted((TESTDATA / "mariadb-10.11" / "relay").glob("relay-bin.0*"))
    assert binx("to-parquet", "--quiet", *logs, "-o", tmp_path / "lake").code == 0
    (path,) = (tmp_path / "lake" / "_manifest").glob("relay-bin.000002.*")
    assert json.loads(path.read_text("utf-8"))["behind"]["next"] == "relay-bin.000003"


def test_force_writes_again(shop: Shop, tmp_path: Path) -> None:
    arguments = ("to-parquet", shop.logs[0], "-o", tmp_path / "lake")
    states = [binx(*arguments, *extra).out.split("\t")[1] for extra in ([], [], ["--force"])]
    assert states == ["written", "kept", "written"]


def test_a_pipe_gets_tabs_and_plain_numbers(shop: Shop, tmp_path: Path) -> None:
    ended = binx("to-parquet", shop.logs[0], "-o", tmp_path / "lake")
    source, state, transactions, *numbers = ended.out.rstrip("\n").split("\t")
    assert source.startswith(shop.logs[0].name)
    assert (state, transactions) == ("written", str(shop.files[shop.logs[0].name]["transactions"]))
    assert all(number.isdecimal() for number in numbers)


def test_quiet_prints_nothing(shop: Shop, tmp_path: Path) -> None:
    ended = binx("to-parquet", "--quiet", shop.logs[0], "-o", tmp_path / "lake")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4", "none"])
def test_compression(shop: Shop, tmp_path: Path, compression: str) -> None:
    level = ["--compression-level", "5"] if compression == "zstd" else []
    arguments = ["--compression", compression, *level, "--row-group-rows", "100"]
    ended = binx("to-parquet", *arguments, shop.logs[0], "-o", tmp_path / "lake")
    assert ended.code == 0
    file = next((tmp_path / "lake" / "changes" / "shop" / "orders").glob("*.parquet"))
    group = pq.ParquetFile(file).metadata.row_group(0)
    names = {"none": "UNCOMPRESSED"}
    found = {group.column(place).compression for place in range(group.num_columns)}
    # What compression does not make smaller stays as it is.
    assert found - {"UNCOMPRESSED"} == {names.get(compression, compression.upper())} - {"UNCOMPRESSED"}
    assert group.num_rows <= 100


def test_a_level_is_about_zstd(shop: Shop, tmp_path: Path) -> None:
    arguments = ["--compression", "lz4", "--compression-level", "5"]
    ended = binx("to-parquet", *arguments, shop.logs[0], "-o", tmp_path / "lake")
    assert (ended.code, ended.out) == (2, "")
    assert "--compression-level applies only to --compression zstd, not lz4" in ended.err
    assert not (tmp_path / "lake").exists()


def test_unsigned_bigint_as_decimal(shop: Shop, tmp_path: Path) -> None:
    import pyarrow as pa

    binx("to-parquet", "--unsigned-bigint", "decimal", shop.logs[0], "-o", tmp_path / "lake")
    file = next((tmp_path / "lake" / "changes" / "shop" / "orders").glob("*.parquet"))
    assert pq.read_schema(file).field("id").type == pa.decimal128(20, 0)


def test_a_dump_gives_names(mariadb_shop: Shop, tmp_path: Path) -> None:
    """MariaDB's logs have no names; those of a later log alone come from nowhere but the dump."""
    dump = tmp_path / "schema.sql"
    tables = json.loads((mariadb_shop.folder / "expected" / "tables.json").read_text("utf-8"))["tables"]
    found = (
        tables["shop.visits"]
        if isinstance(tables, dict)
        else next(table for table in tables if table["table"] == "visits")
    )
    dump.write_text(f"USE shop;\n{found['create']};\n")
    arguments = ["--table", "shop.visits", str(mariadb_shop.logs[1])]
    names = []
    with_dump: tuple[list[str], list[str]] = ([], ["--schema", str(dump)])
    for number, extra in enumerate(with_dump):
        lake = tmp_path / f"lake{number}"
        assert binx("to-parquet", *extra, *arguments, "-o", lake).code == 0
        file = next((lake / "changes" / "shop" / "visits").glob("*.parquet"))
        names.append([name for name in pq.read_schema(file).names if not name.startswith("_")])
    assert names[0] == [f"c{number + 1}" for number in range(len(names[1]))]
    assert names[1] == [column["name"] for column in found["columns"]]


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_tables_whose_columns_nothing_names_are_reported(
    mariadb_shop: Shop, tmp_path: Path, jobs: str
) -> None:
    """MariaDB's default leaves names out of the log, and the first log has the CREATE TABLE."""
    said = "the logs do not contain the column names of "
    ended = binx("to-parquet", "--jobs", jobs, mariadb_shop.logs[3], "-o", tmp_path / "alone")
    (told,) = [line for line in ended.err.splitlines() if said in line]
    names = told.partition(said)[2].removesuffix("; give them with --schema").split(", ")
    (manifest,) = (tmp_path / "alone" / "_manifest").glob("*.json")
    files = [file for file in json.loads(manifest.read_text())["files"] if file["kind"] == "changes"]
    unnamed = {
        f"{file['db']}.{file['table']}"
        for file in files
        if "c1" in pq.read_schema(tmp_path / "alone" / file["path"]).names
    }
    assert sorted(names) == sorted(unnamed)
    assert names
    ended = binx("to-parquet", "--jobs", jobs, *mariadb_shop.logs, "-o", tmp_path / "all")
    assert said not in ended.err


def test_losses_are_listed_with_exit_code_3(testdata: Path, tmp_path: Path) -> None:
    log = testdata / "mariadb-10.11" / "shop" / "mysql-bin.000002"
    ended = binx("to-parquet", "--json", log, "-o", tmp_path / "lake")
    assert ended.code == 3
    losses = documents(ended.out)[0]["losses"]
    assert losses
    assert ended.err.count("binx: warning: ") == len(losses)
    again = binx("to-parquet", "--json", log, "-o", tmp_path / "lake")
    assert (again.code, documents(again.out)[0]["state"]) == (3, "kept")


def test_gtids_that_are_not_there_are_named(shop: Shop, tmp_path: Path) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    ended = binx("to-parquet", "--gtid", f"{source}:1,{source}:4444", *shop.logs, "-o", tmp_path / "lake")
    assert ended.code == 4
    assert ended.err.endswith(f"binx: error: not in these files: {source}:4444\n")


def test_help_names_the_defaults_that_hold() -> None:
    from binx.rows.decoder import MEMORY_BYTES, ROW_GROUP_ROWS

    shown = " ".join(binx("to-parquet", "--help").out.split())
    assert f"Maximum number of rows in a row group. [default: {ROW_GROUP_ROWS}]" in shown
    assert f"before they are written, for each log at a time. [default: {MEMORY_BYTES >> 20}]" in shown


def test_logs_are_not_exported_again_because_there_is_other_memory(shop: Shop, tmp_path: Path) -> None:
    rerun: list[str | Path] = ["to-parquet", "--json", *shop.logs, "-o", tmp_path / "lake"]
    assert {json.loads(line)["state"] for line in binx(*rerun, "--memory", "64").lines} == {"written"}
    assert {json.loads(line)["state"] for line in binx(*rerun).lines} == {"kept"}
    assert {json.loads(line)["state"] for line in binx(*rerun, "--row-group-rows", "9").lines} == {"written"}


def test_a_log_without_a_name_is_refused(shop: Shop, tmp_path: Path) -> None:
    refused = binx("to-parquet", "-", "-o", tmp_path / "lake", stdin=shop.logs[0].read_bytes())
    assert refused.code == 1
    assert "standard input has no name" in refused.err
    assert not (tmp_path / "lake").exists()


@pytest.fixture
def replica(shop: Shop, tmp_path: Path) -> Path:
    """A folder with a log that lacks one of the shop's transactions."""
    folder = tmp_path / "replica"
    folder.mkdir()
    target = folder / "mysql-bin.000001"
    done = binx("extract", "--quiet", "--exclude-gtid", shop.demo["gtid"], *shop.logs, "-o", target)
    assert done.code == 0, done.err
    return folder


def test_equal_logs(shop: Shop) -> None:
    ended = binx("diff", shop.folder, shop.folder)
    assert ended.code == 0, ended.err
    titles = {"in both": "1,629", "only in A": "0", "only in B": "0", "different": "0"}
    assert ended.lines[2:] == [f"{title:<18}{count}" for title, count in titles.items()]


def test_what_was_before_the_other_s_logs_is_named_so_that_all_are_accounted_for(shop: Shop) -> None:
    first, both = shop.logs[0], shop.logs[:2]
    for sides, before in (((first, both[1]), "B"), ((both[1], first), "A")):
        ended = binx("diff", "--gtids", *sides)
        assert ended.code == 3
        told = ended.lines.index(f"before {before}          374")
        assert ended.lines[told + 1].endswith(":1-374")
        assert ended.lines[told + 2] == f"    {before} had these before its first log"
        other = "A" if before == "B" else "B"
        assert f"only in {before}         446" in ended.lines
        assert f"only in {other}         0" in ended.lines


def test_what_a_replica_lacks(shop: Shop, replica: Path) -> None:
    ended = binx("diff", shop.folder, replica)
    assert ended.code == 3
    assert "only in A         1" in ended.lines
    assert f"  {shop.demo['gtid']}" in ended.lines
    assert f"  errant: {shop.demo['gtid']}" in ended.lines


def test_what_differs_is_shown_by_row_and_value(shop: Shop, tmp_path: Path) -> None:
    log = TESTDATA / "mysql-9.7" / "small" / "xa.binlog"
    other = altered(log, b"in between", b"IN BETWEEN", tmp_path / "xa.binlog")
    ended = binx("diff", log, other)
    assert ended.code == 3
    place = next(
        number for number, line in enumerate(ended.lines) if line.startswith("    insert small.t id = ")
    )
    assert ended.lines[place + 1 :] == ['      text  A  "in between"', '            B  "IN BETWEEN"']


def test_gtids_from_a_dump_are_perhaps_purged_until_it_is_said(shop: Shop, tmp_path: Path) -> None:
    gtids = shop.demo["gtid"].partition(":")[0] + ":1-100"
    later = tmp_path / "mysql-bin.000001"
    assert binx("extract", "--quiet", "--exclude-gtid", gtids, *shop.logs, "-o", later).code == 0
    ended = binx("diff", "--gtids", shop.folder, later)
    assert f"  perhaps purged: {gtids}" in ended.lines
    assert not any("errant" in line for line in ended.lines)
    assert ended.code == 3
    assert binx("diff", "--gtids", "--purged-b", gtids, shop.folder, later).code == 0


def test_json(shop: Shop, replica: Path) -> None:
    ended = binx("diff", "--gtids", "--json", "--quiet", replica, shop.folder)
    assert (ended.code, ended.err) == (3, "")
    document = json.loads(ended.out)
    assert document["only_right"] == {
        "gtid_set": shop.demo["gtid"],
        "transactions": 1,
        "errant_gtids": shop.demo["gtid"],
        "perhaps_purged_gtids": "",
        "statement_gtids": "",
    }
    assert (document["equal"], document["compared"]) == (False, False)


@pytest.mark.parametrize("options", [(), ("--gtids",)])
def test_what_neither_side_has_is_no_equality(shop: Shop, options: tuple[str, ...]) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    asked = ("--gtid", f"{shop.demo['gtid']},{source}:999999")
    ended = binx("diff", *options, *asked, shop.folder, shop.folder)
    assert ended.code == 4
    assert f"not in these files: {source}:999999" in ended.err
    assert "in both           1" in ended.lines


def test_what_one_side_has_is_a_difference_not_absent(shop: Shop, replica: Path) -> None:
    ended = binx("diff", "--quiet", "--gtid", shop.demo["gtid"], shop.folder, replica)
    assert (ended.code, ended.err) == (3, "")


def test_two_sides_are_wanted(shop: Shop) -> None:
    ended = binx("diff", shop.folder)
    assert ended.code == 2
    assert "Missing argument 'B'" in ended.err


KEY = ("why", "--table", "shop.orders", "--pk", "9007199254740992")


def test_changes_have_both_values(shop: Shop) -> None:
    ended = binx(*KEY, *shop.logs)
    assert ended.code == 0
    assert '            *   status       "new" -> "paid"' in ended.lines
    assert ended.err == "binx: changes: 4\n"
    assert "\x1b" not in ended.out


def test_json_is_a_line_a_change(shop: Shop) -> None:
    ended = binx(*KEY, "--json", "--quiet", *shop.logs)
    types = [json.loads(line)["type"] for line in ended.lines]
    assert types == ["create", "insert", "update", "update"]
    assert ended.err == ""
    assert len(binx(*KEY, "--limit", "2", "--json", *shop.logs).lines) == 2


def test_a_terminal_gets_whole_lines_with_colours(shop: Shop) -> None:
    plain = on_terminal(*KEY, *shop.logs, width=60, env={"NO_COLOR": "1"})
    assert plain.lines[:-1] == binx(*KEY, *shop.logs).lines
    assert "\x1b[32m" in on_terminal(*KEY, *shop.logs, width=60).out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--pk", "1"], 2, "expected exactly one table"),
        (["--table", "shop.orders"], 2, "expected either a key (--pk VALUE) or a condition"),
        (["--table", "shop.orders", "--pk", "5"], 4, "no changes of the row in these files"),
        (["--table", "shop.orders", "--where", "id = 0"], 4, "no changes of the row in these files"),
        (["--table", "shop.orders", "--where", "idd = 1"], 4, "no table has idd"),
        (["--table", "shop.orders", "--pk", "1", "--pk", "2"], 2, "expected 1 value, found 2"),
        (["--table", "shop.orders", "--pk", "one"], 2, "expected a number"),
        (["--table", "shop.orders", "--where", "id +"], 2, "'--where'"),
        (["--table", "shop.audit_log", "--pk", "1"], 2, "has no primary key; use --where"),
        (["--table", "shop.nothing", "--pk", "1"], 4, "no changes of shop.nothing in the files"),
        (["--table", "shop.orders", "--pk", "1", "--since", "2030-01-01"], 4, "in the selected transactions"),
    ],
)
def test_what_cannot_be_known(shop: Shop, arguments: list[str], code: int, said: str) -> None:
    ended = binx("why", *arguments, *shop.logs)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_the_statement_that_a_change_was_logged_with_is_shown(mariadb_shop: Shop) -> None:
    key = ("why", "--table", "shop.customers", "--pk", "8", "--limit", "2", "--quiet")
    created, inserted = (json.loads(line) for line in binx(*key, "--json", *mariadb_shop.logs).lines)
    assert created["sql"].startswith("CREATE TABLE customers")
    assert inserted["sql"].startswith("INSERT INTO customers (id, email")
    assert any(
        line.startswith("  INSERT INTO customers (id, email") for line in binx(*key, *mariadb_shop.logs).lines
    )


@pytest.mark.parametrize("option", ["--grep", "--where"])
def test_the_manifest_gets_no_personal_data_from_options(shop: Shop, tmp_path: Path, option: str) -> None:
    rules = ["--drop-columns", "shop.customers.email"]
    wanted = "email = 'bob@example.com'"
    ended = binx("to-parquet", "-o", tmp_path / "lake", *rules, option, wanted, shop.logs[0])
    assert (ended.code, "manifest" in ended.err) == (2, True)


def test_a_rule_for_a_table_that_never_comes_ends_the_export(shop: Shop, tmp_path: Path) -> None:
    rules = ("to-parquet", "--quiet", "-o", tmp_path / "lake", "--drop-columns", "shop.custmers.email")
    ended = binx(*rules, *shop.logs)
    assert ended.code == 3
    assert "there is no table for the rule shop.custmers.email" in ended.err
    assert not list((tmp_path / "lake").rglob("*.parquet"))
    ended = binx(*rules, "--allow-unmatched-rules", *shop.logs)
    assert (ended.code, ended.err) == (0, "")


def test_a_rule_for_a_table_without_exported_rows_is_checked_at_the_end(shop: Shop, tmp_path: Path) -> None:
    rules = ("to-parquet", "--quiet", "-o", tmp_path / "lake", "--drop-columns", "shop.customers.emial")
    ended = binx(*rules, "--table", "shop.orders", *shop.logs)
    assert ended.code == 3
    assert "the rule shop.customers.emial matches no column in the data set" in ended.err


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_log_whose_table_lacks_the_column_of_a_rule_is_not_committed(
    shop: Shop, tmp_path: Path, jobs: str
) -> None:
    lake = tmp_path / "lake"
    rules = ("to-parquet", "--quiet", "--jobs", jobs, "-o", lake, "--drop-columns", "shop.customers.emial")
    ended = binx(*rules, *shop.logs)
    assert ended.code == 3
    assert "there is no column for the rule shop.customers.emial" in ended.err
    assert not list(lake.rglob("*.json"))
    assert not list(lake.rglob("*.parquet"))
    ended = binx(*rules, "--allow-unmatched-rules", *shop.logs)
    assert (ended.code, ended.err) == (0, "")


def test_a_log_whose_documents_lack_the_part_of_a_rule_is_not_committed(shop: Shop, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    rules = ("to-parquet", "--quiet", "-o", lake, "--drop-columns")
    ended = binx(*rules, "shop.customers.profile:$.lnag", *shop.logs)
    assert ended.code == 3
    assert "no document has the part of the rule shop.customers.profile:$.lnag" in ended.err
    assert not list(lake.rglob("*.parquet"))
    ended = binx(*rules, "shop.customers.profile:$.lang", *shop.logs)
    assert (ended.code, ended.err) == (0, "")


def test_a_rule_that_matched_in_an_earlier_log_may_match_nothing_in_later_ones(
    shop: Shop, tmp_path: Path
) -> None:
    rules = ("to-parquet", "--quiet", "-o", tmp_path / "lake")
    given = ("--drop-columns", "SHOP.customers.email", "--drop-columns", "*.nothing.x")
    for log in shop.logs:
        ended = binx(*rules, *given, log)
        assert (ended.code, ended.err) == (0, "")


def test_a_copy_that_was_cut_does_not_replace_the_whole_log(shop: Shop, tmp_path: Path) -> None:
    whole, cut = shop.logs[1].read_bytes(), tmp_path / shop.logs[1].name
    start = documents(binx("ls", "--json", shop.logs[1]).out)[-1]["start"]
    lake = tmp_path / "lake"
    assert binx("to-parquet", "-o", lake, shop.logs[1]).code == 0
    manifests = [path.read_bytes() for path in (lake / "_manifest").iterdir()]
    cut.write_bytes(whole[:start])
    ended = binx("to-parquet", "-o", lake, cut)
    assert ended.code == 1
    assert f"has a transaction of this log that begins at {start:,}: copy the log again" in ended.err
    assert [path.read_bytes() for path in (lake / "_manifest").iterdir()] == manifests
    assert binx("to-parquet", "--force", "-o", lake, cut).code == 0
    cut.write_bytes(whole)
    (one,) = documents(binx("to-parquet", "--json", "-o", lake, cut).out)
    assert (one["state"], one["transactions"]) == ("written", shop.files[cut.name]["transactions"])


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_dump_has_to_be_given_only_once(mariadb_shop: Shop, tmp_path: Path, jobs: str) -> None:
    """Logs that are listed again begin as they did, also without the log before them."""
    dump, lake = tmp_path / "schema.sql", tmp_path / "lake"
    tables = json.loads((mariadb_shop.folder / "expected" / "tables.json").read_text("utf-8"))["tables"]
    dump.write_text("USE shop;\n" + ";\n".join(table["create"] for table in tables.values()) + ";\n")
    export = ("to-parquet", "--json", "--jobs", jobs, "-o", str(lake))

    def states(*words: str | Path) -> list[str]:
        return [json.loads(line)["state"] for line in binx(*export, *words).lines]

    def names() -> set[str]:
        return {
            name for file in (lake / "changes/shop/visits").glob("*") for name in pq.read_schema(file).names
        }

    logs = mariadb_shop.logs
    assert states("--schema", f"{dump}@start", logs[1]) == ["written"]
    assert states(*logs[1:4]) == ["kept", "written", "written"]
    assert states(*logs[1:4]) == ["kept", "kept", "kept"]
    assert states(*logs[:4]) == ["written", "kept", "kept", "kept"]
    assert binx("to-parquet", "--forget", logs[1].name, "-o", lake).code == 0
    assert states(*logs[2:4]) == ["kept", "kept"]
    assert "c1" not in names()
