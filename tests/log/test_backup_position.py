"""What backups note of their place in the logs, in the texts that the programs write."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition, read_backup_position

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "4e11fa47-71ca-11e1-9e33-c80aa9429562"

SHELL = f"""{{"dumper": "mysqlsh Ver 8.4.0", "version": "2.0.1", "gtidExecuted": "{UUID}:1-5",
"gtidExecutedInconsistent": false, "binlogFile": "binlog.000002", "binlogPosition": 3145}}"""

MYDUMPER_0_10 = f"""Started dump at: 2026-11-21 09:30:00
SHOW MASTER STATUS:
\tLog: mysql-bin.000002
\tPos: 3145
\tGTID:{UUID}:1-5

SHOW SLAVE STATUS:
\tHost: 10.0.0.1
\tLog: source-bin.000009
\tPos: 77
\tGTID:{OTHER}:1-9

Finished dump at: 2026-11-21 09:30:02
"""

MYDUMPER_0_16 = f"""# Started dump at: 2026-11-21 09:30:00
[config]
quote_character = BACKTICK

[source]
# executed_gtid_set = "{UUID}:1-5"
# SOURCE_LOG_FILE = "mysql-bin.000002"
File = mysql-bin.000002
Position = 3145
Executed_Gtid_Set = {UUID}:1-5
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("xtrabackup_binlog_info", "mysql-bin.000003\t157\n", ("mysql-bin.000003", 157, "")),
        (
            "xtrabackup_binlog_info",
            f"mysql-bin.000003\t157\t{UUID}:1-5:7,\n{OTHER}:1-3\n",
            ("mysql-bin.000003", 157, f"{UUID}:1-5:7,{OTHER}:1-3"),
        ),
        ("mariadb_backup_binlog_info", "b.000003\t157\t0-10-5,1-10-7\n", ("b.000003", 157, "0-10-5,1-10-7")),
        (
            "xtrabackup_info",
            f"tool_version = 8.0.35\nbinlog_pos = filename 'binlog.000002', position '3145',"
            f" GTID of the last change '{UUID}:1-5'\nincremental = N\n",
            ("binlog.000002", 3145, f"{UUID}:1-5"),
        ),
        ("mariadb_backup_info", "binlog_pos = filename 'b.000002', position '3145'", ("b.000002", 3145, "")),
        ("@.json", SHELL, ("binlog.000002", 3145, f"{UUID}:1-5")),
        ("@.json", f'{{"gtidExecuted": "{UUID}:1-5"}}', ("", 0, f"{UUID}:1-5")),
        ("metadata", MYDUMPER_0_10, ("mysql-bin.000002", 3145, f"{UUID}:1-5")),
        ("metadata", MYDUMPER_0_16, ("mysql-bin.000002", 3145, f"{UUID}:1-5")),
    ],
)  # fmt: skip
def test_a_folder_or_its_note_tells_the_position(
    name: str, text: str, expected: tuple[str, int, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path, tmp_path / name):
        found = read_backup_position(str(path))
        assert (found.file, found.offset, str(found.gtids)) == expected
        assert found.noted_in == str(tmp_path / name)


def test_a_note_without_a_position_leaves_it_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "xtrabackup_binlog_info").write_text("")
    (tmp_path / "xtrabackup_info").write_text("binlog_pos = filename 'b.000002', position '3145'\n")
    assert read_backup_position(str(tmp_path)).offset == 3145


@pytest.mark.parametrize("compressed", [False, True])
def test_a_dump_tells_its_position(compressed: bool, tmp_path: Path) -> None:
    text = (
        f"-- MySQL dump\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{UUID}:1-5,\n{OTHER}:1-3';\n"
        "-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000002', SOURCE_LOG_POS=872;\n"
    ).encode()
    path = tmp_path / "dump.sql"
    path.write_bytes(gzip.compress(text) if compressed else text)
    found = read_backup_position(str(path))
    assert (found.file, found.offset, str(found.gtids)) == (
        "mysql-bin.000002",
        872,
        f"{UUID}:1-5,{OTHER}:1-3",
    )


def test_mariadbs_dump_tells_its_gtids_at_its_end_and_rows_tell_none(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_text(
        "-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000001', MASTER_LOG_POS=888;\n"
        + "INSERT INTO `t` VALUES (1,'SET GLOBAL gtid_slave_pos=\\'9-9-9\\'');\n" * 3_000
        + "-- SET GLOBAL gtid_slave_pos='0-10-3';\n"
    )
    expected = BackupPosition("mysql-bin.000001", 888, GtidSet.parse("0-10-3"), str(path))
    assert read_backup_position(str(path)) == expected


def test_what_notes_no_position_is_refused_with_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text("-- MySQL dump\nCREATE TABLE t (a INT);\n")
    with pytest.raises(UsageError, match="--single-transaction --source-data=2"):
        read_backup_position(str(tmp_path / "dump.sql"))
    with pytest.raises(UsageError, match="expected a folder with xtrabackup_binlog_info"):
        read_backup_position(str(tmp_path))
    (tmp_path / "xtrabackup_binlog_info").write_text("mysql-bin.000003\t157\tnonsense\n")
    with pytest.raises(UsageError, match="xtrabackup_binlog_info"):
        read_backup_position(str(tmp_path))
