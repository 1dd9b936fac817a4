"""Events and identifiers of logs, and the positions that backups note."""

from __future__ import annotations

import gzip
import uuid
from pathlib import Path

import pytest

from binx.errors import BinxError, DamagedError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.event.payload import TransactionPayload
from binx.kernels.walk.scan import Level
from binx.log.backup_position import BackupPosition, read_backup_position
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import NAMESPACE, id_at, transaction_id, transaction_ids
from binx.log.scan import Scan
from binx.log.transaction_events import transaction_events
from tests.conftest import PROJECT
from tests.log import building as b
from tests.log.searching import Bytes


def test_the_events_of_a_payload_come_after_it_with_its_position() -> None:
    with BinlogFile.open(str(PROJECT / "testdata/mysql-9.7/small/compressed.binlog")) as file:
        (table,) = Scan(file, Level.LEVEL_TABLES)
        index = next(i for i in range(len(table)) if table.value("uncompressed_bytes", i))
        start, end = table.value("start", index), table.value("end", index)
        events = list(transaction_events(file, start, end, table.format))
    assert isinstance(events[1][1], TransactionPayload)
    position = events[1][0].position
    inner = events[2:]
    assert [header.position for header, _ in inner] == [position] * len(inner)
    assert inner[-1][0].type == EventType.XID
    assert sum(header.size for header, _ in inner) == events[1][1].uncompressed_size


def test_a_range_that_ends_within_an_event_is_damage() -> None:
    path = PROJECT / "testdata/mysql-9.7/small/ddl.binlog"
    with BinlogFile.open(str(path)) as file:
        (table,) = Scan(file)
        start, end = table.value("start", 3), table.value("end", 3)
        with pytest.raises(DamagedError) as raised:
            list(transaction_events(file, start, end - 1, table.format))
    assert raised.value.path == str(path)


def test_a_payload_changed_anywhere_gives_events_or_an_error() -> None:
    data = bytearray((PROJECT / "testdata/mysql-9.7/small/compressed.binlog").read_bytes())
    file = BinlogFile(Bytes(bytes(data)))
    (table,) = Scan(file, Level.LEVEL_TABLES)
    index = next(i for i in range(len(table)) if table.value("uncompressed_bytes", i))
    start, end = table.value("start", index), table.value("end", index)
    for offset in range(start, end):
        data[offset] ^= 0x41
        damaged = BinlogFile(Bytes(bytes(data)))
        try:
            list(transaction_events(damaged, start, end, table.format))
        except BinxError:
            continue
        finally:
            data[offset] ^= 0x41


SMALL_LOGS = PROJECT / "testdata/mysql-9.7/small"


def ids_of(name: str) -> tuple[BinlogFile, list[tuple[str, str | None, int]]]:
    """A log, and of each of its transactions the id, the GTID and the start."""
    file = BinlogFile.open(str(SMALL_LOGS / name))
    (table,) = Scan(file, Level.LEVEL_INDEX)
    offsets, text = transaction_ids(file, table)
    ends = memoryview(offsets).cast("i")
    ids = [text[ends[i] : ends[i + 1]].decode() for i in range(len(table))]
    assert ids == [id_at((offsets, text), i) for i in range(len(table))]
    assert ids == [transaction_id(file, table, i) for i in range(len(table))]
    return file, [(own, table.gtid(i), table.value("start", i)) for i, own in enumerate(ids)]


def test_the_id_of_a_transaction_with_gtid_is_the_gtid() -> None:
    _, ids = ids_of("tagged_gtids.binlog")
    assert ids
    assert all(own == gtid for own, gtid, _ in ids)


def test_the_id_of_a_transaction_without_gtid_is_a_uuid_that_reading_again_gives_again() -> None:
    file, ids = ids_of("anonymous_gtids.binlog")
    name = f"{file.format.server_id}/anonymous_gtids.binlog/{file.identity}/"
    assert [gtid for _, gtid, _ in ids] == [None] * 5
    assert [own for own, _, _ in ids] == [
        str(uuid.uuid5(uuid.UUID(NAMESPACE), f"{name}{start}")) for _, _, start in ids
    ]


def test_ids_of_a_log_that_switches_gtids_on_are_of_both_kinds() -> None:
    table = b.transactions(b.CREATE, b.gtid(5), b.CREATE, b.mariadb_gtid(6), b.xid(), b.CREATE)
    file = BinlogFile(Bytes((SMALL_LOGS / "ddl.binlog").read_bytes()))
    offsets, text = transaction_ids(file, table)
    ends = memoryview(offsets).cast("i")
    ids = [text[ends[index] : ends[index + 1]].decode() for index in range(len(table))]
    assert ids[1:3] == [f"{b.UUID_TEXT}:5", "0-7-6"]
    assert [uuid.UUID(own).version for own in (ids[0], ids[3])] == [5, 5]
    assert ids[0] != ids[3]


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
def test_a_folder_or_its_note_names_the_position(
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
def test_a_dump_names_its_position(compressed: bool, tmp_path: Path) -> None:
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


def test_a_position_that_is_read_only_in_part_is_none(tmp_path: Path) -> None:
    """As after a set of GTIDs of many sources: only the beginning of a dump is read."""
    path = tmp_path / "dump.sql"
    position = "-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000001', MASTER_LOG_POS=888"
    # The last of its digits is the first byte that is not read.
    path.write_text(f"{position};\n".rjust(65_536 + len("8;\n"), "\n") + "-- rows\n" * 10_000)
    with pytest.raises(UsageError, match="notes its position"):
        read_backup_position(str(path))


def test_mariadbs_dump_names_its_gtids_at_its_end_and_rows_name_none(tmp_path: Path) -> None:
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
