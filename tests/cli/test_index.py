"""``binx index`` and ``binx extract``: options and outputs, of compressed logs too."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
import zstandard

from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.cli.test_usage import HEAVY, modules_after
from tests.conftest import TESTDATA
from tests.exports import contents
from tests.log.building import flip


@pytest.fixture
def logs(shop: Shop, tmp_path: Path) -> list[Path]:
    """Copies of two logs, in a folder of their own."""
    return [Path(shutil.copy(log, tmp_path)) for log in shop.logs[1:3]]


@pytest.fixture(scope="module")
def indexed(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Copies of all logs with their index files, which no test changes."""
    folder = tmp_path_factory.mktemp("indexed")
    copies = [Path(shutil.copy(log, folder)) for log in shop.logs]
    assert binx("index", *copies).code == 0
    return copies


def states(*arguments: str | Path) -> list[str]:
    """The states that a run tells."""
    return [json.loads(line)["state"] for line in binx("index", "--json", *arguments).lines]


def test_index_files_are_written_once(logs: list[Path]) -> None:
    assert states(*logs) == ["written", "written"]
    index = logs[0].with_name(f"{logs[0].name}.binx")
    before = index.stat()
    assert states(*logs) == ["true", "true"]
    assert index.stat().st_ino == before.st_ino
    assert states("--force", *logs) == ["written", "written"]
    assert index.stat().st_ino != before.st_ino
    assert sorted(path.name for path in logs[0].parent.iterdir()) == sorted(
        name for log in logs for name in (log.name, f"{log.name}.binx")
    )


def test_check_writes_nothing_and_reports_what_is_missing(logs: list[Path]) -> None:
    ended = binx("index", "--check", *logs)
    assert ended.code == 4
    assert [line.rpartition(": ")[2] for line in ended.lines] == ["absent", "absent"]
    assert not list(logs[0].parent.glob("*.binx"))
    binx("index", *logs)
    assert binx("index", "--check", *logs).code == 0


def test_check_distinguishes_stale_from_damaged(logs: list[Path]) -> None:
    binx("index", *logs)
    with logs[0].open("ab") as file:
        file.write(b"\0")
    index = logs[1].with_name(f"{logs[1].name}.binx")
    index.write_bytes(index.read_bytes()[:-1])
    ended = binx("index", "--check", "--json", *logs)
    assert ended.code == 4
    told = [json.loads(line) for line in ended.lines]
    assert [one["state"] for one in told] == ["stale", "damaged"]
    assert "update it with binx index" in told[0]["error"]


def test_index_files_are_made_anew_where_the_log_has_changed(logs: list[Path], shop: Shop) -> None:
    binx("index", logs[0])
    shutil.copy(shop.logs[3], logs[0])
    assert states(logs[0]) == ["written"]
    assert states("--check", logs[0]) == ["true"]


def test_a_damaged_log_gets_none_and_the_others_do(logs: list[Path]) -> None:
    flip(logs[0], bits=0xFF)
    ended = binx("index", *logs)
    assert ended.code == 1
    assert str(logs[0]) in ended.err
    assert sorted(path.name for path in logs[0].parent.glob("*.binx")) == [f"{logs[1].name}.binx"]


def test_a_folder_of_index_files_is_made_and_found(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "indexes"
    assert binx("index", "-o", folder, *shop.logs).code == 0
    assert len(list(folder.iterdir())) == len(shop.logs)
    with_option = binx("ls", "--index-dir", folder, "--quick", *shop.logs)
    in_environment = binx("ls", "--quick", *shop.logs, env={"BINX_INDEX_DIR": str(folder)})
    assert with_option.out == in_environment.out == binx("ls", *shop.logs).out
    assert with_option.err == in_environment.err == ""


def test_a_pattern_that_matches_index_files_means_the_logs(indexed: list[Path], shop: Shop) -> None:
    every = sorted(indexed[0].parent.iterdir())
    assert len(every) == 2 * len(indexed)
    assert binx("ls", *every).out == binx("ls", *shop.logs).out
    ended = binx("ls", *(path for path in every if path.suffix == ".binx"))
    assert ended.code == 2
    assert "only index files" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls",),
        ("ls", "--json"),
        ("ls", "--sort", "rows", "--limit", "7"),
        ("ls", "--table", "shop.orders", "--limit", "20"),
        ("ls", "--json", "--min-bytes", "20000"),
        ("extract", "--format", "binlog", "--table", "shop.order*"),
        ("extract", "--table", "shop.orders", "--where", "status = 'paid'"),
        ("extract", "--format", "json", "--rows", "--limit", "30"),
        ("extract", "--format", "sql", "--limit", "30"),
    ],
    ids=" ".join,
)
def test_answers_are_the_same_with_index_files(
    arguments: tuple[str, ...], indexed: list[Path], shop: Shop
) -> None:
    with_index, without = binx(*arguments, *indexed), binx(*arguments, "--no-index", *indexed)
    assert without.out
    assert (with_index.code, with_index.out, with_index.err) == (without.code, without.out, without.err)


@pytest.mark.parametrize("arguments", [("ls", "--json"), ("stats", "--json")], ids=" ".join)
def test_a_quick_look_at_index_files_knows_all(arguments: tuple[str, ...], indexed: list[Path]) -> None:
    assert binx(*arguments, "--quick", *indexed).out == binx(*arguments, "--no-index", *indexed).out


def test_one_transaction_is_cut_out_without_anything_heavy(
    indexed: list[Path], shop: Shop, tmp_path: Path
) -> None:
    slices = [tmp_path / name for name in ("with", "without")]
    loaded = modules_after("extract", "--gtid", shop.demo["gtid"], *indexed, "-o", slices[0], "--quiet")
    binx("extract", "--no-index", "--gtid", shop.demo["gtid"], *indexed, "-o", slices[1])
    assert "binx.log.index.index_file" not in loaded, "a plain log is searched faster without"
    assert not loaded & HEAVY
    assert slices[0].read_bytes() == slices[1].read_bytes()


def test_a_stale_index_file_gives_one_line_and_the_right_answer(logs: list[Path], shop: Shop) -> None:
    binx("index", logs[0])
    shutil.copy(shop.logs[3], logs[0])
    ended = binx("ls", logs[0])
    assert len(ended.err.splitlines()) == 1
    assert "the index file is not used" in ended.err
    assert ended.out == binx("ls", "--no-index", logs[0]).out
    assert binx("ls", "--quiet", logs[0]).err == ""
    assert binx("ls", "--no-index", logs[0]).err == ""


def test_standard_input_and_contradictions_are_refused(logs: list[Path]) -> None:
    assert binx("index", "-", stdin=logs[0].read_bytes()).code == 2
    assert binx("index", "--check", "--force", *logs).code == 2


def test_a_folder_in_an_object_store_is_refused_and_none_made_of_its_name(
    logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    run = binx("index", "-o", "s3://bucket/indexes", *logs)
    assert run.code == 2
    assert "expected a local folder, found s3://bucket/indexes" in run.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_relay_log_that_begins_inside_a_transaction_gets_no_index_file(tmp_path: Path) -> None:
    path = TESTDATA / "mariadb-10.11" / "relay" / "relay-bin.000003"
    done = binx("index", "-o", str(tmp_path), str(path))
    assert done.code == 1
    assert "inside a transaction of the log before it, relay-bin.000002; an index file" in done.err
    assert not list(tmp_path.iterdir())


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


def test_a_position_inside_a_transaction_means_its_start_and_is_reported(shop: Shop, tmp_path: Path) -> None:
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


def cut(log: Path, copy: Path, *, in_use: bool) -> Path:
    """A copy of a log without its last ten transactions and its end, as the server was writing it or not."""
    end = json.loads(binx("ls", "--json", log).lines[-11])["end"]
    data = bytearray(log.read_bytes()[:end])
    data[4 + 17] |= in_use
    copy.write_bytes(data)
    return copy


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        *(("ls", kind) for kind in ("equal", "compressed", "open", "renamed", "piped")),
        *(("to-parquet -o", kind) for kind in ("open", "piped")),
        ("stats --json", "equal"), ("extract --format json -o -", "piped"),
    ],
)  # fmt: skip
def test_a_copy_of_a_log_or_of_its_beginning_is_left_out(
    shop: Shop, tmp_path: Path, command: str, kind: str
) -> None:
    log, copy = shop.logs[1], tmp_path / shop.logs[1].name
    if kind == "compressed":
        copy = copy.with_name(f"{copy.name}.gz")
        copy.write_bytes(gzip.compress(log.read_bytes()))
    elif kind == "open":
        cut(log, copy, in_use=True)
    else:
        copy = Path(shutil.copy(log, copy.with_name("copy.binlog") if kind == "renamed" else copy))
    given = "-" if kind == "piped" else copy
    logs = [given, log] if kind == "open" else [log, given]
    both, whole = (
        binx(
            *command.split(),
            *([tmp_path / f"lake{len(some)}"] if command.startswith("to-parquet") else []),
            *some,
            stdin=copy.read_bytes(),
        )
        for some in (logs, [log])
    )
    assert (both.code, both.out) == (0, whole.out)
    assert f"binx: {given}: left out, as {log} has all of it\n" in both.err


@pytest.mark.parametrize("option", ["--start-position", "--stop-position"])
def test_a_position_beyond_the_end_of_its_log_ends_with_4(shop: Shop, option: str) -> None:
    """The log, or the copy of it, is not the one that the position is of; mysqlbinlog warns then."""
    log = shop.logs[0]
    size = log.stat().st_size
    for position, code in ((f"{log.name}:{size}", 0), (f"{log.name}:{size + 1}", 4)):
        ended = binx("ls", "--quiet", option, position, *shop.logs[:2])
        assert ended.code == code
        said = f"binx: warning: {log}: it has no position {size + 1}, but ends at {size}\n"
        assert ended.err == (said if code else "")


def test_two_logs_of_one_name_server_and_time_that_differ_are_refused(shop: Shop, tmp_path: Path) -> None:
    copy = tmp_path / shop.logs[0].name
    flip(Path(shutil.copy(shop.logs[0], copy)), 5000)
    ended = binx("extract", shop.logs[0], copy, "-o", tmp_path / "twice.binlog")
    assert ended.code == 2
    assert f"{copy}: it and {shop.logs[0]} are copies of one log" in ended.err
    assert not (tmp_path / "twice.binlog").exists()


@pytest.mark.parametrize(
    ("command", "server", "in_use"),
    [
        *(("ls", server, in_use) for server in ("shop", "mariadb_shop") for in_use in (True, False)),
        ("show", "shop", True), ("stats", "mariadb_shop", False), ("events", "mariadb_shop", True),
        ("extract", "shop", False), ("extract", "mariadb_shop", True), ("to-parquet", "shop", True),
    ],
)  # fmt: skip
def test_a_log_whose_end_is_missing_ends_with_4(
    request: pytest.FixtureRequest, tmp_path: Path, server: str, command: str, in_use: bool
) -> None:
    """The next log lists the GTIDs that were in it; without a next log nothing says that they were."""
    logs = request.getfixturevalue(server).logs
    copy = cut(logs[0], tmp_path / logs[0].name, in_use=in_use)
    options: list[str | Path] = ["-o", tmp_path / "out"] if command in ("extract", "to-parquet") else []
    ended = binx(command, "--quiet", *options, copy, logs[1])
    assert ended.code == 4
    said = " ".join((ended.out if command == "stats" else ended.err).split())
    assert "which the next file lists as logged before it, are missing" in said
    (tmp_path / "out").unlink() if command == "extract" else None
    assert binx(command, "--quiet", *options, copy).code == 0


def test_a_gap_in_the_chain_is_reported_where_no_gtids_are_asked_for(shop: Shop, tmp_path: Path) -> None:
    ended = binx("extract", shop.logs[2], shop.logs[0], "-o", tmp_path / "all")
    assert (
        f"binx: warning: {shop.logs[0]}, {shop.logs[2]}: expected mysql-bin.000002 to follow,"
        " found mysql-bin.000003"
    ) in ended.err
    assert ended.code == 4
    wanted = binx("extract", "--gtid", shop.demo["gtid"], *shop.logs[::2], "-o", tmp_path / "one")
    assert "to follow" not in wanted.err
    assert wanted.code == 0


@pytest.mark.parametrize("command", ["ls", "show", "stats", "events", "to-parquet"])
def test_a_log_that_is_missing_between_others_ends_with_4(
    mariadb_shop: Shop, tmp_path: Path, command: str
) -> None:
    options: list[str | Path] = ["-o", tmp_path / "lake"] if command == "to-parquet" else []
    ended = binx(command, "--quiet", *options, *mariadb_shop.logs[:3:2])
    assert ended.code == 4
    said = ended.out if command == "stats" else ended.err
    assert "expected mysql-bin.000002 to follow, found mysql-bin.000003" in said


def test_a_log_that_is_missing_outside_the_requested_times_does_not_matter(shop: Shop) -> None:
    missing, after = (json.loads(binx("stats", "--json", log).out) for log in shop.logs[1:3])
    logs = [shop.logs[0], *shop.logs[2:]]
    begun = after["first"]["commit_timestamp"]
    ended = missing["last"]["commit_timestamp"]
    assert binx("ls", "--since", "2100-01-01", *logs).code == 0
    assert binx("ls", "--until", ended, *logs).code == 4
    assert binx("ls", "--until", "2000-01-01", *logs).code == 0
    assert binx("ls", "--since", ended, "--until", begun, *logs).code == 4


def test_sql_that_undoes(shop: Shop, tmp_path: Path) -> None:
    arguments = ["extract", "--format", "sql", "--reverse", *map(str, shop.logs)]
    ended = binx(*arguments, "--gtid", shop.demo["gtid"])
    assert ended.code == 3
    assert "columns of shop.products were dropped since" in ended.err
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


def test_a_reversed_log_says_where_nothing_names_foreign_keys(tmp_path: Path) -> None:
    log, schema = TESTDATA / "mariadb-10.11/small/no_checksum.binlog", tmp_path / "schema.sql"
    assert binx("extract", "--gtid", "0-10-4", log, "-o", tmp_path / "part.000001").code == 0
    schema.write_text("USE small; CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));")
    for arguments, code in (
        (["--gtid", "0-10-4", log], 0),
        ([tmp_path / "part.000001"], 3),
        (["--schema", schema, tmp_path / "part.000001"], 0),
    ):
        ended = binx("extract", "--reverse", "--force", *arguments, "-o", tmp_path / "undo")
        assert (ended.code, "refer to small.t, the logs do not tell" in ended.err) == (code, code == 3)


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


def test_the_data_set_is_the_same_byte_for_byte(compressed: list[Path], shop: Shop, tmp_path: Path) -> None:
    assert binx("to-parquet", *shop.logs, "-o", tmp_path / "plain").code == 0
    assert binx("to-parquet", *compressed, "-o", tmp_path / "compressed").code == 0
    assert contents(tmp_path / "compressed") == contents(tmp_path / "plain")


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
