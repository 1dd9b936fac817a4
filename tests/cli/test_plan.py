"""``binx plan``: its text, its JSON, its exit codes and its refusals."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx

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
    assert sum(line.startswith("# ") for line in ended.lines) == 5


def test_what_is_missing_is_named_with_exit_code_4(shop: Shop, backup: Path) -> None:
    logs = [log for log in shop.logs if not log.name.endswith("3")]
    ended = binx("plan", "--backup", backup, "--json", *logs)
    found = json.loads(ended.out)
    assert (ended.code, found["covered"], found["commands"]) == (4, False, {})
    assert found["missing"] == {"logs": ["mysql-bin.000003"], "gtids": f"{UUID}:821-1216"}


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
    assert binx("spark-script", "load").out == ended.out
    ended = binx("spark-script", "lode")
    assert (ended.code, ended.err) == (2, "binx: error: expected the name of a script (load), found 'lode'\n")


def test_what_is_no_data_set_is_told_before_spark_is_looked_for(tmp_path: Path) -> None:
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
