"""Names that nothing has: databases, tables, columns; and what may be meant by them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from binx.cli.application import load_command
from binx.cli.run import usage_message
from testdata.programs import Programs, find_mariadb, find_mysql, find_newer_mariadb
from tests.cli.conftest import Shop
from tests.cli.process import binx

MEANT = "no table shop.ordrs in the files read; did you mean shop.orders?"


@pytest.mark.parametrize("command", [["ls"], ["show"], ["stats"], ["ls", "--json"]])
def test_a_table_that_no_log_has_is_named_with_the_one_that_may_be_meant(
    command: list[str], shop: Shop
) -> None:
    assert MEANT in binx(*command, "--table", "shop.ordrs", *shop.logs).err
    assert (
        "no database shp in the files read; did you mean shop?"
        in binx(*command, "--db", "shp", *shop.logs).err
    )
    for pattern in ("shop.ordr*", "shop.orders", "shop.lottery"):
        assert "no table" not in binx(*command, "--table", pattern, *shop.logs).err


def test_a_state_and_a_comparison_name_it_too(shop: Shop) -> None:
    ended = binx("state", "--table", "shop.ordrs", "--format", "csv", shop.logs[0])
    assert ended.code == 4
    said = "as of the end of the logs there is no table shop.ordrs; did you mean shop.orders?"
    assert ended.err == f"binx: error: {said}\n"
    early = binx("state", "--table", "shop.orders", "--at", "2000-01-01", "--format", "csv", shop.logs[0])
    assert early.err == "binx: error: as of 2000-01-01T00:00:00Z there is no table shop.orders\n"
    assert MEANT in binx("diff", "--table", "shop.ordrs", shop.logs[0], shop.logs[0]).err
    one_side = binx("diff", "--table", "shop.best_customers", shop.logs[0], shop.folder)
    assert "no table" not in one_side.err


def test_what_needs_the_table_ends_with_the_code_for_what_is_not_there(shop: Shop, tmp_path: Path) -> None:
    for command in (["why", "--pk", "1"], ["extract", "-o", str(tmp_path / "out")]):
        ended = binx(*command, "--table", "shop.ordrs", *shop.logs)
        assert ended.code == 4
        assert "no table shop.ordrs in these files; did you mean shop.orders?" in ended.err


def test_an_export_of_a_table_that_is_in_no_log_ends_with_exit_code_3(shop: Shop, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ended = binx("to-parquet", "--quiet", "--table", "shop.ordrs", "-o", lake, shop.logs[0])
    assert ended.code == 3
    assert ended.err == (
        "binx: warning: no table shop.ordrs in the logs of the data set; did you mean shop.orders?\n"
    )
    # Statements about one of the names are none about the other.
    both = ["--table", "shop.ordrs", "--table", "shop.orders"]
    assert binx("to-parquet", "--quiet", *both, "-o", tmp_path / "both", shop.logs[0]).err == ended.err
    assert MEANT in binx("ls", *both, shop.logs[0]).err
    for names in (["--table", "shop.orders"], ["--table", "shop.ordr*"], ["--db", "shop"]):
        assert binx("to-parquet", *names, "-o", tmp_path / names[1].strip("*"), shop.logs[0]).code == 0


def test_columns_of_conditions_are_suggested_and_text_needs_quotes(shop: Shop) -> None:
    for condition, said in (
        ("statuss = 'paid'", "no table has statuss, as the condition"),
        ("statuss = 'paid'", "; did you mean status?\n"),
        ("status == paid", "; text needs quotes: status = 'paid'\n"),
        ("paid = after.status", "; text needs quotes: status = 'paid'\n"),
    ):
        ended = binx("ls", "--where", condition, shop.logs[0])
        assert ended.code == 4
        assert said in ended.err
    assert binx("ls", "--where", "id = customer_id", shop.logs[0]).code == 0


def test_tables_of_data_sets_and_columns_of_rules_are_suggested(shop: Shop, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    binx("to-parquet", "-o", lake, shop.logs[0])
    ended = binx("state", lake, "--table", "shp.orders", "-o", tmp_path / "rows.csv")
    assert ended.code == 4
    assert ended.err.endswith("; did you mean shop.orders?\n")
    ended = binx("to-parquet", "--drop-columns", "shop.custmers.email", "-o", tmp_path / "x", shop.logs[0])
    assert ended.code == 3
    assert "; did you mean shop.customers? Nothing is written." in ended.err
    rule = "--drop-columns", "shop.customers.emial"
    ended = binx("to-parquet", *rule, "-o", tmp_path / "x", shop.logs[0])
    assert ended.code == 3
    assert "; did you mean shop.customers.email? The log is not committed." in ended.err
    ended = binx(
        "to-parquet",
        "--hash-columns",
        "shop.cust*.emial",
        "--hash-key",
        shop.logs[0],
        "-o",
        tmp_path / "x",
        shop.logs[0],
    )
    assert ended.code == 0
    assert "; did you mean email?\n" in ended.err


@pytest.mark.parametrize("kind", ["binlog", "sql"])
def test_a_database_to_rename_that_no_transaction_has_is_a_warning(
    kind: str, shop: Shop, tmp_path: Path
) -> None:
    one = "extract", "--kind", "dml", "--limit", "1", "--format", kind, "--force", "-o", tmp_path / "one"
    ended = binx(*one, "--rewrite-db", "shp->test", shop.logs[0])
    assert "no database shp in what was written; did you mean shop?" in ended.err
    assert "--rewrite-db" not in binx(*one, "--rewrite-db", "shop=test", shop.logs[0]).err


def test_names_of_mysqlbinlogs_options_are_taken(shop: Shop, tmp_path: Path) -> None:
    given = "--start-datetime", "2026-11-21 09:48:53", "--stop-datetime", "2026-11-21 09:49", "-d", "shop"
    own = "--since", "2026-11-21 09:48:53", "--until", "2026-11-21 09:49", "--db", "shop"
    assert binx("ls", *given, *shop.logs).out == binx("ls", *own, *shop.logs).out != ""
    first = json.loads(binx("ls", "--json", "-j", "373", "--limit", "1", shop.logs[0]).out)
    assert first["start"] == 373
    assert binx("show", "-H", "--limit", "1", shop.logs[0]).out == (
        binx("show", "--hex", "--limit", "1", shop.logs[0]).out
    )
    out = tmp_path / "undo"
    assert binx("extract", "-B", "--kind", "dml", "--table", "shop.visits", "-r", out, shop.logs[0]).code == 0
    assert out.read_bytes() == binx_bytes(shop.logs[0], tmp_path / "same")


def binx_bytes(log: str | Path, out: Path) -> bytes:
    assert binx("extract", "--reverse", "--kind", "dml", "--table", "shop.visits", "-o", out, log).code == 0
    return out.read_bytes()


_OPTION = re.compile(r"^ {0,2}(?:(-\S), )?(--[a-z0-9][a-z0-9-]*)", re.MULTILINE)


@pytest.mark.parametrize("find", [find_mysql, find_mariadb, find_newer_mariadb])
def test_every_option_of_the_servers_readers_is_taken_or_answered(
    find: Callable[[], Programs | None],
) -> None:
    programs = find()
    if programs is None:
        pytest.skip("this machine does not have that server")
    reader = "mysqlbinlog" if find is find_mysql else "mariadb-binlog"
    told = subprocess.run([*programs.command(reader), "--help"], capture_output=True, text=True, check=False)
    names = {name for names in _OPTION.findall(told.stdout) for name in names if name}
    assert len(names) > 60
    for name in sorted(names):
        for command in ("ls", "extract", "pull"):
            said = refusal(command, name)
            assert "no such option" not in said or f"no such option {name!r}; " in said
            assert "did you mean" not in said, said


def refusal(command: str, name: str) -> str:
    """What is said of an option before anything is read; nothing if it is taken."""
    try:
        load_command(command).make_context(command, [name, "f"])
    except click.UsageError as error:
        return usage_message(error)
    except click.exceptions.Exit:
        return ""
    return ""


def test_an_option_of_another_command_is_reported(shop: Shop) -> None:
    for name, said in (
        ("--rewrite-db=a=b", "no such option '--rewrite-db'; binx extract has it\n"),
        (
            "--output=x",
            "no such option '--output'; binx index, binx query, binx extract and 5 more have it\n",
        ),
        ("--idempotent", "; give it to mysqlbinlog, with the log that binx extract writes\n"),
        ("-uroot", "; binx pull mysql://USER@HOST:PORT copies logs from a server\n"),
    ):
        assert said in binx("ls", name, shop.logs[0]).err
    assert binx("ls", "-T", "shop.visits", *shop.logs) == binx("ls", "--table", "shop.visits", *shop.logs)


def test_an_output_whose_ending_names_a_format_has_it(shop: Shop, tmp_path: Path) -> None:
    for ending, form in (
        (".sql", "sql"),
        (".JSON", "json"),
        (".ndjson", "json"),
        (".thl", "thl"),
        (".000001", "binlog"),
    ):
        out, same = tmp_path / f"out{ending}", tmp_path / f"same-{ending[1:]}"
        assert binx("extract", "--limit", "3", shop.logs[0], "-o", out).code == 0
        assert binx("extract", "--limit", "3", shop.logs[0], "-o", same, "--format", form).code == 0
        assert out.read_bytes() == same.read_bytes()
    chosen = tmp_path / "log.sql"
    assert binx("extract", "--limit", "3", "--format", "binlog", shop.logs[0], "-o", chosen).code == 0
    assert chosen.read_bytes()[:4] == b"\xfebin"


def test_an_output_is_overwritten_only_with_force(shop: Shop, tmp_path: Path) -> None:
    out = tmp_path / "one.json"
    one = "extract", "--format", "json", "--limit", "1", "-o", out, shop.logs[0]
    out.touch()
    assert binx(*one).code == 0
    written = out.read_bytes()
    ended = binx(*one[:4], "2", *one[5:])
    assert (ended.code, out.read_bytes()) == (1, written)
    assert ended.err.endswith("one.json: exists; overwrite it with --force, or choose another output\n")
    assert binx(*one[:4], "2", "--force", *one[5:]).code == 0
    assert out.read_bytes() != written
    assert binx(*one[:5], "-o", "/dev/null", shop.logs[0]).code == 0


def test_a_data_set_is_not_written_among_other_things(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("")
    ended = binx("to-parquet", "-o", tmp_path, shop.logs[0])
    assert ended.code == 1
    assert "is no data set, and not empty: it has photo.jpg; choose a folder of its own" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]
    (tmp_path / "photo.jpg").rename(tmp_path / ".hidden")
    assert binx("to-parquet", "-o", tmp_path, shop.logs[0]).code == 0
    (tmp_path / "notes.txt").write_text("")
    assert binx("to-parquet", "-o", tmp_path, shop.logs[1]).code == 0
