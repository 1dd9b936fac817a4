"""Transaction ids: GTIDs as they are, and UUIDs that stay the same where there are none."""

from __future__ import annotations

import subprocess
import sys
import uuid

from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.identifiers import NAMESPACE, id_at, transaction_id, transaction_ids
from tests.conftest import PROJECT
from tests.log import building as b
from tests.log.memory import Bytes

SMALL = PROJECT / "testdata/mysql-9.7/small"


def ids_of(name: str) -> tuple[BinlogFile, list[tuple[str, str | None, int]]]:
    """A log, and of each of its transactions the id, the GTID and the start."""
    file = BinlogFile.open(str(SMALL / name))
    (table,) = file.scan(Level.LEVEL_INDEX)
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
    file = BinlogFile(Bytes((SMALL / "ddl.binlog").read_bytes()))
    offsets, text = transaction_ids(file, table)
    ends = memoryview(offsets).cast("i")
    ids = [text[ends[index] : ends[index + 1]].decode() for index in range(len(table))]
    assert ids[1:3] == [f"{b.UUID_TEXT}:5", "0-7-6"]
    assert [uuid.UUID(own).version for own in (ids[0], ids[3])] == [5, 5]
    assert ids[0] != ids[3]


def test_ids_for_the_row_decoder_need_no_pyarrow() -> None:
    code = (
        "import sys; import binx.log.identifiers, binx.log.selection.selection;"
        " sys.exit(any(name in sys.modules for name in ('pyarrow', 'sqlglot')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
