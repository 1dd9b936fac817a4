"""``binx extract``: options and outputs; what a slice holds is held by the exports' own tests."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
import zstandard

from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.conftest import TESTDATA

MAGIC = b"\xfebin"


def gtids_of(log: Path) -> list[str]:
    return [line.split("\t")[1] for line in binx("ls", log).lines]


def test_one_transaction_is_cut_out_of_a_chain(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "one.binlog"
    ended = binx("extract", "--gtid", shop.demo["gtid"], *shop.logs, "-o", target)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"binx: transactions written: 1 ({target.stat().st_size:,} bytes)\n"
    assert target.read_bytes().startswith(MAGIC)
    assert gtids_of(target) == [shop.demo["gtid"]]


def test_standard_output_has_the_same_bytes(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "one.binlog"
    arguments = ("extract", "--quiet", "--gtid", shop.demo["gtid"], *shop.logs)
    assert binx(*arguments, "-o", target).err == ""
    assert binx(*arguments, "-o", "-").out == binx(*arguments).out
    assert target.read_bytes().decode("utf-8", "replace") == binx(*arguments).out


def test_what_is_there_is_written_and_what_is_missing_is_listed(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "one.binlog"
    source = shop.demo["gtid"].partition(":")[0]
    ended = binx("extract", "--gtid", f"{shop.demo['gtid']},{source}:9000-9002", *shop.logs, "-o", target)
    assert ended.code == 4
    assert ended.err.endswith(f"binx: error: not in these files: {source}:9000-9002\n")
    assert gtids_of(target) == [shop.demo["gtid"]]


def test_nothing_found_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    ended = binx("extract", "--until", "2001-01-01", shop.logs[0], "-o", tmp_path / "none")
    assert ended.code == 4
    assert "none of the requested transactions found" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_found_is_no_sql_of_any_server(mariadb_shop: Shop) -> None:
    for options in ([], ["--reverse"]):
        ended = binx("extract", "--format", "sql", *options, "--since", "2090-01-01", *mariadb_shop.logs)
        assert (ended.code, ended.out) == (4, "")
    # Of transactions that are found and have none of the rows, the script names the server of the log.
    chosen = ["--only-matching", "--table", "shop.customers", "--operations", "delete"]
    ended = binx("extract", "--format", "sql", *chosen, mariadb_shop.logs[0])
    assert ended.out.startswith("-- Transactions from binary logs of MariaDB")
    assert "mysql" not in ended.out.lower()


def test_a_position_inside_a_transaction_means_its_start_and_is_told(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "from.binlog"
    place = f"{shop.demo['file']}:{shop.demo['start'] + 7}"
    ended = binx("extract", "--start-position", place, "--limit", "1", *shop.logs, "-o", target)
    assert ended.code == 0
    assert str(shop.demo["start"]) in ended.err
    assert gtids_of(target) == [shop.demo["gtid"]]


def test_a_position_needs_its_file_where_there_are_several(shop: Shop) -> None:
    ended = binx("extract", "--start-position", "4711", *shop.logs)
    assert ended.code == 2
    assert "expected FILE:POS" in ended.err


def test_a_log_and_its_copy_are_told_of(shop: Shop, tmp_path: Path) -> None:
    copy = tmp_path / shop.logs[0].name
    shutil.copy(shop.logs[0], copy)
    ended = binx("extract", shop.logs[0], copy, "-o", tmp_path / "twice.binlog")
    assert ended.code == 0
    assert "warning: " in ended.err
    assert "both are mysql-bin.000001" in ended.err


def test_a_gap_in_the_chain_is_told_where_no_gtids_are_asked_for(shop: Shop, tmp_path: Path) -> None:
    ended = binx("extract", shop.logs[2], shop.logs[0], "-o", tmp_path / "all")
    assert (
        f"binx: warning: {shop.logs[0]}, {shop.logs[2]}: expected mysql-bin.000002 to follow,"
        " found mysql-bin.000003"
    ) in ended.err
    wanted = binx("extract", "--gtid", shop.demo["gtid"], *shop.logs[::2], "-o", tmp_path / "one")
    assert "to follow" not in wanted.err


def test_sql_that_undoes(shop: Shop, tmp_path: Path) -> None:
    arguments = ["extract", "--format", "sql", "--reverse", *map(str, shop.logs)]
    ended = binx(*arguments, "--gtid", shop.demo["gtid"])
    assert ended.code == 0
    assert ended.out.count("-- undoes ") == ended.out.count("\nEXECUTE undo_end;\n") == 1
    # The logs go on, and so did some of the rows.
    assert "later transactions changed rows again that are to be undone" in ended.err
    refused = binx(*arguments, "-o", tmp_path / "undo.sql")
    assert (refused.code, refused.out) == (1, "")
    assert "binx: error: some changes cannot be undone; nothing was written" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_sql_has_names_and_values(shop: Shop) -> None:
    arguments = ["--quiet", "--format", "sql", "--statement-bytes", "1", "--gtid", shop.demo["gtid"]]
    ended = binx("extract", *arguments, *shop.logs)
    assert (ended.code, ended.err) == (0, "")
    changed = sum(sum(kinds.values()) for kinds in shop.demo["tables"].values())
    statements = [line for line in ended.lines if line.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert len(statements) == changed
    assert shop.demo["gtid"] in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "sql", "--verbatim"], "--verbatim applies only to --format binlog"),
        (["--format", "json", "--reverse"], "--reverse applies only to --format sql and binlog, not json"),
        (["--format", "sql", "--on-conflict", "skip"], "--on-conflict applies only to --reverse"),
        (["--rows"], "--rows applies only to --format json"),
        (["--schema", "x.sql"], "--schema applies only to --format sql, json and thl"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_say_nothing_about_the_format_are_refused(
    shop: Shop, arguments: list[str], said: str
) -> None:
    ended = binx("extract", *arguments, shop.logs[0])
    assert ended.code == 2
    assert said in ended.err


def test_names_that_the_log_does_not_prove_are_warned_of(tmp_path: Path) -> None:
    log = TESTDATA / "mysql-9.7" / "small" / "if_not_exists.binlog"
    done = binx("extract", "--format", "json", "--rows", log, "-o", tmp_path / "rows.json")
    assert done.code == 0
    assert "the columns of small.swapped are named as in CREATE TABLE IF NOT EXISTS" in done.err
    assert "the columns of small.other_type are called c1 to c3: column 2 is defined as price int" in done.err
    assert "small.made" not in done.err


@pytest.fixture(params=[".zst", ".gz"])
def compressed(request: pytest.FixtureRequest, shop: Shop, tmp_path: Path) -> list[Path]:
    compress = gzip.compress if request.param == ".gz" else zstandard.ZstdCompressor().compress
    paths = []
    for log in shop.logs:
        path = tmp_path / (log.name + request.param)
        path.write_bytes(compress(log.read_bytes()))
        paths.append(path)
    return paths


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_data_set_is_the_same_byte_for_byte(compressed: list[Path], shop: Shop, tmp_path: Path) -> None:
    assert binx("to-parquet", *shop.logs, "-o", tmp_path / "plain").code == 0
    assert binx("to-parquet", *compressed, "-o", tmp_path / "compressed").code == 0
    assert tree(tmp_path / "compressed") == tree(tmp_path / "plain")


def test_slices_and_listings_are_the_same(compressed: list[Path], shop: Shop, tmp_path: Path) -> None:
    slices = []
    for name, logs in (("plain", shop.logs), ("compressed", compressed)):
        assert binx("extract", "--limit", "20", *logs, "-o", tmp_path / name).code == 0
        slices.append((tmp_path / name).read_bytes())
    assert slices[0] == slices[1]
    listings = [binx("ls", *reversed(logs)).out for logs in (shop.logs, compressed)]
    assert listings[0] == listings[1] != ""


def test_standard_input_may_be_compressed(compressed: list[Path], shop: Shop) -> None:
    plain, other = (binx("ls", "-", stdin=logs[0].read_bytes()) for logs in (shop.logs, compressed))
    assert plain.code == 0
    assert other == plain


def test_a_cut_one_is_refused_with_path_and_offset(compressed: list[Path]) -> None:
    path = compressed[0]
    path.write_bytes(path.read_bytes()[:-20])
    ended = binx("ls", path)
    assert ended.code == 1
    assert f"{path}, offset " in ended.err
    assert "Traceback" not in ended.err
