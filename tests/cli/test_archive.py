"""``binx archive``, ``plan`` and ``load``: options, summaries, exit codes."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from pathlib import Path

import pytest

from testdata import encrypted
from tests.archive.places import IN_USE, check_manifests, copy_logs
from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.exports import contents
from tests.log import building as b


def test_a_line_is_printed_for_each_log_and_one_where_nothing_is_to_do(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert (ended.code, ended.err, len(ended.lines)) == (0, "", 2)
    assert ended.lines[0].startswith(f"{source}/mysql-bin.000001: archived, 374 transactions, 258 KiB in ")
    check_manifests(tmp_path / "archive")
    again = binx("archive", source, "--to", tmp_path / "archive")
    assert (again.code, again.err) == (0, "")
    assert again.out == "nothing to do: 2 archived, 0 may still be written\n"
    assert binx("archive", "--quiet", source, "--to", tmp_path / "archive").out == ""


def test_programs_get_objects(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    ended = binx("archive", "--json", source, "--to", tmp_path / "archive")
    log, run = map(json.loads, ended.lines)
    assert (log["state"], log["transactions"], log["findings"]) == ("archived", 374, [])
    assert (run["run"], run["held"], run["archived"]) == ("ok", 1, 1)
    (run,) = map(json.loads, binx("archive", "--json", source, "--to", tmp_path / "archive").lines)
    assert (run["run"], run["held"], run["archived"]) == ("ok", 1, 0)


def test_what_is_archived_is_listed(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    place = tmp_path / "archive"
    binx("archive", source, "--to", place)
    listed = binx("archive", "--list", "--to", place)
    assert (listed.code, listed.err) == (0, "")
    shown = on_terminal("archive", "--list", "--to", place, width=140)
    assert shown.lines[0].split()[:2] == ["\x1b[1mARCHIVED", "AS"]
    assert [line.split()[0] for line in shown.lines[1:]] == [line.split()[0] for line in listed.lines]
    documents = [json.loads(line) for line in binx("archive", "--list", "--json", "--to", place).lines]
    lines = [line.split("\t") for line in listed.lines]
    assert [line[0].split(".")[1] for line in lines] == ["000001", "000002"]
    for document, line in zip(documents, lines, strict=True):
        names = ("archived_as", "server_id", "first_commit_timestamp", "last_commit_timestamp")
        assert [str(document[name]) for name in names] == line[:4]
        assert (document["state"], line[-1]) == ("archived", "whole")


def test_what_fails_gives_exit_code_1(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    (source / "mysql-bin.000001").chmod(0o644)
    shutil.copy(source / "mysql-bin.000001", tmp_path / "file")
    ended = binx("archive", source, "--to", tmp_path / "file")
    assert (ended.code, ended.out) == (1, "")
    assert "cannot be written: " in ended.err
    assert "is a file" in ended.err or "a file with that name exists" in ended.err


def test_a_log_being_written_is_counted(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs")
    shutil.copy(IN_USE, source)
    before = contents(tmp_path)
    ended = binx("archive", "--dry-run", source, "--to", tmp_path / "archive")
    assert (ended.code, ended.out) == (0, "nothing to do: 0 archived, 1 may still be written\n")
    assert contents(tmp_path) == before


def test_damage_of_a_log_that_may_still_be_written_is_reported(tmp_path: Path) -> None:
    """That its end is missing is no damage."""
    log = copy_logs(tmp_path / "logs", 1) / "mysql-bin.000001"
    data = bytearray(log.read_bytes()[:-60])
    log.write_bytes(data)
    ended = binx("archive", log, "--to", tmp_path / "archive")
    assert (ended.code, ended.out) == (0, "nothing to do: 0 archived, 1 may still be written\n")
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    for source in (log, log.parent):
        ended = binx("archive", source, "--to", tmp_path / "archive")
        assert (ended.code, ended.out) == (3, "")
        assert f"{log}: damaged, not archived: expected the stored checksum" in ended.err


def test_what_restoring_would_not_heed_is_refused(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    place, output = tmp_path / "archive", tmp_path / "restored"
    binx("archive", source, "--to", place)
    ended = binx("archive", "--dry-run", "--restore", "mysql-bin.000001", "--to", place, "-o", output)
    assert (ended.code, ended.out) == (2, "")
    assert "--dry-run does not apply to --restore" in ended.err
    assert not output.exists()
    ended = binx("archive", source, "--to", place, "--server-id", "97")
    assert ended.code == 2
    assert "--server-id applies only to restoring" in ended.err


def test_a_check_reports_to_programs_and_people(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    place = tmp_path / "archive"
    binx("archive", source, "--to", place)
    shutil.copy(IN_USE, source / "mysql-bin.000003")
    ended = binx("archive", "--check", source, "--to", place)
    assert ended.code == 3  # It is the log of another run, which does not know of these GTIDs.
    (source / "mysql-bin.000003").unlink()
    ended = binx("archive", "--check", source, "--to", place)
    assert (ended.code, ended.lines[-1].partition(":")[0]) == (0, "ok")
    document = json.loads(binx("archive", "--check", "--json", "--to", place).out)
    assert (document["check"], document["logs"], document["tail"]) == ("ok", 2, None)
    (stored,) = place.glob("mysql-bin.000002.*.zst")
    stored.write_bytes(stored.read_bytes()[:-1])
    assert binx("archive", "--check", "--to", place).code == 3
    stored.unlink()
    assert binx("archive", "--check", "--to", place).code == 4


def test_logs_and_spans_come_back(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    place = tmp_path / "archive"
    binx("archive", source, "--to", place)
    ended = binx("archive", "--restore", "mysql-bin.000002", "--to", place, "-o", tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert (tmp_path / "mysql-bin.000002").read_bytes() == (source / "mysql-bin.000002").read_bytes()
    uuid = "bf1c133d-e590-11f1-8de0-02fc00000001"
    out = tmp_path / "span"
    ended = binx("archive", "--restore", "--json", "--gtid", f"{uuid}:370-380", "--to", place, "-o", out)
    assert (ended.code, json.loads(ended.out)["transactions"]) == (0, 11)
    ended = binx("archive", "--gtid", f"{uuid}:820-821", "--to", place, "-o", out)
    assert (ended.code, f"{uuid}:821" in ended.err) == (4, True)
    assert binx("archive", "--restore", "mysql-bin.000009", "--to", place, "-o", out).code == 4


def test_a_span_over_a_log_whose_end_is_missing_lists_that(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    log = source / "mysql-bin.000001"
    end = json.loads(binx("ls", "--json", log).lines[-11])["end"]
    log.write_bytes(log.read_bytes()[:end])
    place = tmp_path / "archive"
    assert binx("archive", source, "--to", place).code == 3
    ended = binx("archive", "--since", "2026-11-21 09:48", "--to", place, "-o", tmp_path / "span")
    assert ended.code == 3
    assert "binx: transactions committed from 2026-11-21T09:48:00Z (UTC)\n" in ended.err
    assert ":365-374, which the next file lists as logged before it, are missing" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected SOURCE"),
        (
            ["--check", "--gtid", "0-1-1"],
            "expected one of --check, --list, --expire and something to restore",
        ),
        (["--restore", "x"], "expected an output file (-o)"),
        (["--restore", "-o", "x"], "expected a log name after --restore"),
        (["--restore", "x", "--gtid", "0-1-1", "-o", "x"], "found both"),
        (["--restore", "x", "-o", "x", "logs"], "leave SOURCE out"),
        (["logs", "-o", "x"], "-o applies only to --restore"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_contradicts_itself_is_said(arguments: list[str], said: str, tmp_path: Path) -> None:
    ended = binx("archive", "--to", "archive", *arguments, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert list(tmp_path.iterdir()) == []


UUID = "bf1c133d-e590-11f1-8de0-02fc00000001"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "xtrabackup_binlog_info").write_text(f"mysql-bin.000002\t198\t{UUID}:1-374\n")
    return tmp_path / "full"


def test_a_line_says_each_thing_and_the_commands_stand_below(shop: Shop, backup: Path) -> None:
    ended = binx("plan", "--backup", backup, "--to-gtid", f"{UUID[:8]}:1006", *shop.logs)
    assert (ended.code, ended.err) == (0, "")
    facts = dict(line.split("  ", 1) for line in ended.lines if "  " in line and not line.startswith("#"))
    assert facts["covered"].strip() == "yes"
    assert facts["begin"].strip().startswith("mysql-bin.000002:198, with the transaction")
    assert facts["replay"].strip() == "632 transactions, 400 KiB, 2 logs"
    first = next(line for line in ended.lines if line.startswith("mysqlbinlog "))
    assert first.startswith("mysqlbinlog --start-position=198 --stop-position=")
    ways = [line for line in ended.lines if line.startswith(("# by ", "# with ", "# as "))]
    assert ways == [
        "# by replication from binx serve, with parallel workers, resumable",
        "# with mysqlbinlog",
        "# with binx extract, as one binary log",
        "# as relay logs, with parallel workers",
    ]


def test_what_is_missing_is_named_with_exit_code_4(shop: Shop, backup: Path) -> None:
    logs = [log for log in shop.logs if not log.name.endswith("3")]
    ended = binx("plan", "--backup", backup, "--json", *logs)
    found = json.loads(ended.out)
    assert (ended.code, found["covered"], found["commands"]) == (4, False, {})
    assert (found["missing_files"], found["missing_gtids"]) == (["mysql-bin.000003"], f"{UUID}:821-1216")


def test_commands_for_an_archive_restore_the_logs_first(shop: Shop, backup: Path, tmp_path: Path) -> None:
    assert binx("archive", shop.folder, "--to", tmp_path / "archive").code == 0
    ended = binx("plan", "--backup", backup, "--to-gtid", f"{UUID}:400", "--json", tmp_path / "archive")
    commands = json.loads(ended.out)["commands"]
    making, restoring, reading = commands["mysqlbinlog"]
    assert making == "mkdir -p replay"
    assert restoring.startswith("binx archive --restore mysql-bin.000002.")
    assert reading.startswith("mysqlbinlog --start-position=198")
    assert "replay/mysql-bin.000002 | mysql" in reading
    assert restoring in commands["relay_logs"]


def test_compressed_logs_are_decompressed_and_what_no_program_reads_is_left_to_extract(
    shop: Shop, tmp_path: Path
) -> None:
    log = tmp_path / "my logs" / "mysql-bin.000001.gz"
    log.parent.mkdir()
    log.write_bytes(gzip.compress(shop.logs[0].read_bytes()))
    ended = binx("plan", "--from", "mysql-bin.000001:4", "--json", log)
    commands = json.loads(ended.out)["commands"]
    assert commands["mysqlbinlog"][1] == f"gzip -dc -- '{log}' > replay/mysql-bin.000001"
    given = binx("plan", "--from-gtid", f"{UUID}:1-9", "--json", "-", stdin=shop.logs[0].read_bytes())
    assert set(json.loads(given.out)["commands"]) == {"binx"}


def test_a_log_without_transactions_between_others_is_given_to_extract_too(tmp_path: Path) -> None:
    """As two restarts in a row leave it; extract would miss it, with exit code 4."""
    for number, events in enumerate(([b.gtid(1), b.CREATE], [], [b.gtid(2), b.INSERT]), 1):
        (tmp_path / f"mysql-bin.{number:06}").write_bytes(b.whole_log(*events))
    ended = binx("plan", "--from", "mysql-bin.000001:4", "--json", *sorted(tmp_path.iterdir()))
    found = json.loads(ended.out)
    assert [log["transactions"] for log in found["files"]] == [1, 0, 1]
    done = binx(*shlex.split(found["commands"]["binx"][0])[1:], cwd=tmp_path)
    assert (done.code, "transactions written: 2" in done.err) == (0, True)


def test_commands_name_the_keys_that_plan_was_given(tmp_path: Path) -> None:
    """The logs are the server's encrypted ones; its own reader takes none of them from files."""
    keyrings = [encrypted.FOLDER / name for name in (encrypted.KEYRING_BEFORE, encrypted.KEYRING)]
    log = encrypted.FOLDER / encrypted.LOGS[0]
    given = [word for path in keyrings for word in ("--keyring", path)]
    ended = binx("plan", *given, "--from", f"{log.name}:4", "--json", log)
    commands = json.loads(ended.out)["commands"]
    assert all(str(path) in commands["serve"][0] for path in keyrings)
    assert binx(*shlex.split(commands["binx"][0])[1:], cwd=tmp_path).code == 0
    plain = encrypted.FOLDER / "decrypted" / log.name
    replayed = [
        binx("ls", path, "--columns", "gtid,tables").out for path in (plain, tmp_path / "replay.binlog")
    ]
    assert replayed[0] == replayed[1] != ""


def test_transactions_between_that_the_backup_holds_are_excluded(shop: Shop) -> None:
    ended = binx("plan", "--from-gtid", f"{UUID}:1-100:105", "--json", *shop.logs)
    commands = json.loads(ended.out)["commands"]
    assert f"--exclude-gtids={UUID}:105" in commands["mysqlbinlog"][0]
    assert f"--exclude-gtid {UUID}:105" in commands["binx"][0]


def test_mariadbs_programs_and_statements(mariadb_shop: Shop) -> None:
    ended = binx("plan", "--from-gtid", "0-10-100", "--json", *mariadb_shop.logs)
    commands = json.loads(ended.out)["commands"]
    assert commands["mysqlbinlog"][0].startswith("mariadb-binlog --start-position=")
    assert any("START SLAVE SQL_THREAD UNTIL RELAY_LOG_FILE" in line for line in commands["relay_logs"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected the backup: --backup PATH"),
        (["--from", "4"], "expected --from FILE:POS"),
        (["--from-gtid", "nonsense"], "--from-gtid"),
        (["--backup", "/nowhere", "--from", "mysql-bin.000001:4"], "expected the backup"),
        (["--from", "mysql-bin.000001:4", "--to-time", "today", "--to-gtid", "0-1-1"], "expected one target"),
        (["--from", "mysql-bin.000001:250"], "is inside the transaction at 158"),
    ],
)
def test_usage(shop: Shop, arguments: list[str], said: str) -> None:
    ended = binx("plan", *arguments, *shop.logs)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_dump_without_position_is_refused_with_what_to_add(shop: Shop, tmp_path: Path) -> None:
    shutil.copy(shop.logs[0], tmp_path / "log")
    (tmp_path / "dump.sql").write_text("CREATE TABLE t (a INT);\n")
    ended = binx("plan", "--backup", tmp_path / "dump.sql", *shop.logs)
    assert ended.code == 2
    assert "--source-data=2" in ended.err


def test_the_script_is_a_file(tmp_path: Path) -> None:
    ended = binx("spark-script", cwd=tmp_path)
    assert ended.code == 0
    assert Path(ended.out.rstrip("\n")).is_file()
    assert Path(ended.out.rstrip("\n")).is_absolute()


def test_what_is_no_data_set_is_reported_before_spark_is_looked_for(tmp_path: Path) -> None:
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert ended.code == 4
    assert ended.err.startswith(f"binx: error: {tmp_path}: has no _manifest/*.json")
    manifest = tmp_path / "_manifest" / "mysql-bin.000001.5eed5eed.json"
    manifest.parent.mkdir()
    manifest.write_text('{"contract": 1, "files": []}')
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert ended.code == 1
    assert ended.err.startswith(f"binx: error: {manifest}: is not a manifest of binx")


def test_a_data_set_has_to_be_named(tmp_path: Path) -> None:
    ended = binx("load", "-o", tmp_path / "tables")
    assert ended.code == 2
    assert ended.err.startswith("binx: error: expected a data set written by to-parquet")
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", "--key", "orders")
    assert ended.code == 2
    assert "expected DB.TABLE=COLUMN" in ended.err
