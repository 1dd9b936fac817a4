"""LOAD DATA in SQL: its statement names a file that has the bytes that its log holds."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import pytest

from binx.errors import DamagedError, ExitCode, RefusedError
from binx.rows.ddl.catalog import Catalog
from binx.slices.sql.load_files import LoadFiles
from binx.slices.sql.write import check_sql, write_sql
from tests.cli.process import binx
from tests.conftest import SERVERS, TESTDATA
from tests.log import building as b
from tests.slices.sql.sql_of import everything, sql_of

READ = re.compile(rb"LOAD DATA LOCAL INFILE '(.*?)'( REPLACE| IGNORE)? INTO TABLE (\S+)")
LOG = TESTDATA / "mysql-9.7" / "small" / "load_data.binlog"


def load(
    file_id: int, sql: bytes, *, error: int = 0, handling: int = 0, file_part: bytes = b" F INTO"
) -> bytes:
    """EXECUTE_LOAD_QUERY of a statement in database shop."""
    start = sql.index(file_part)
    head = struct.pack("<IIBHH", 3, 0, 4, error, 0)
    head += struct.pack("<IIIB", file_id, start, start + len(file_part), handling)
    return b.event(18, head + b"shop\0" + sql)


def block(kind: int, file_id: int, data: bytes) -> bytes:
    return b.event(kind, struct.pack("<I", file_id) + data)


def log_of(folder: Path, *events: bytes, name: str = "mysql-bin.000001") -> Path:
    path = folder / name
    path.write_bytes(b.whole_log(b.gtid(), b.BEGIN, *events, b.xid()))
    return path


@pytest.mark.parametrize("server", SERVERS)
def test_the_file_has_the_bytes_that_the_log_holds_and_a_second_run_keeps_it(
    server: str, tmp_path: Path
) -> None:
    path, folder = TESTDATA / server / "small" / "load_data.binlog", tmp_path / "new" / "folder"
    text = sql_of(path, local_load=folder)
    [(name, handling, table)] = READ.findall(text)
    assert (handling, table) == (b" IGNORE", b"`t`")
    [file] = folder.iterdir()
    assert str(file).encode() == name
    assert file.read_bytes().count(b"\n") == 151
    before = file.stat()
    assert sql_of(path, local_load=folder) == text
    assert file.stat() == before


def test_another_file_of_that_name_is_never_overwritten(tmp_path: Path) -> None:
    sql_of(LOG, local_load=tmp_path)
    [file] = tmp_path.iterdir()
    for other in (file.read_bytes() + b"more", file.read_bytes()[:-1], b""):
        file.write_bytes(other)
        with pytest.raises(RefusedError, match="never overwritten"):
            sql_of(LOG, local_load=tmp_path)
        assert file.read_bytes() == other


def test_without_a_folder_the_message_names_the_option() -> None:
    with pytest.raises(RefusedError, match="--local-load DIR"):
        sql_of(LOG)


def test_files_of_several_statements_of_one_transaction_are_kept_apart(tmp_path: Path) -> None:
    path = log_of(
        tmp_path,
        block(17, 7, b"one"),
        block(17, 8, b"two"),
        block(9, 7, b" more"),
        load(7, b"LOAD DATA F INTO TABLE a", handling=2),
        load(8, b"LOAD DATA F INTO TABLE b", handling=1),
        block(17, 7, b"three"),
        load(7, b"LOAD DATA F INTO TABLE c"),
    )
    found = READ.findall(sql_of(path, local_load=tmp_path / "files"))
    assert [(handling, table, Path(name.decode()).read_bytes()) for name, handling, table in found] == [
        (b" REPLACE", b"a;", b"one more"),
        (b" IGNORE", b"b;", b"two"),
        (b"", b"c;", b"three"),
    ]


def test_names_of_logs_cannot_lead_out_of_the_folder_or_end_a_literal(tmp_path: Path) -> None:
    path = log_of(
        tmp_path, block(17, 1, b"1"), load(1, b"LOAD DATA F INTO TABLE a"), name="it's ..\\ a\n`log`.000001"
    )
    text = sql_of(path, local_load=tmp_path / "files")
    [(name, _, _)] = READ.findall(text)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", Path(name.decode()).name)
    with pytest.raises(RefusedError, match="cannot name a folder"):
        LoadFiles("back\\slash")


def test_a_file_that_the_log_lacks_is_damage_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = log_of(
        tmp_path,
        block(17, 1, b"1"),
        load(1, b"LOAD DATA F INTO TABLE a"),
        load(2, b"LOAD DATA F INTO TABLE b"),
    )
    folder = tmp_path / "files"
    with pytest.raises(DamagedError, match="BEGIN_LOAD_QUERY"), LoadFiles(str(folder)) as files:
        write_sql(everything([path]), io.BytesIO(), Catalog(), files=files)
    assert list(folder.iterdir()) == []


def test_a_load_that_failed_after_some_rows_is_refused(tmp_path: Path) -> None:
    path = log_of(tmp_path, block(17, 1, b"1"), load(1, b"LOAD DATA F INTO TABLE a", error=1062))
    with pytest.raises(RefusedError, match="error 1062 after some rows"):
        check_sql(everything([path]), Catalog(), loads=True)


def test_a_statement_of_another_character_set_names_its_file_too(tmp_path: Path) -> None:
    sql = "LOAD DATA F INTO TABLE ä SET a = 'ö'".encode("latin-1")
    # Without a recorded character set, statements are read as utf8mb4, in which these bytes are no text.
    path = log_of(tmp_path, block(17, 1, b"1"), load(1, sql))
    text = sql_of(path, local_load=tmp_path / "files")
    assert b" INTO TABLE \xe4 SET a = '\xf6'" in text
    assert READ.search(text)


def test_the_command_writes_the_files_and_refuses_what_cannot_have_any(tmp_path: Path) -> None:
    folder, output = tmp_path / "files", tmp_path / "out.sql"
    command: list[str | Path] = ["extract", "--format", "sql", "--local-load", folder, LOG]
    assert binx(*command, "-o", output).code == ExitCode.DONE
    [(name, _, _)] = READ.findall(output.read_bytes())
    assert [str(file).encode() for file in folder.iterdir()] == [name]
    undone, lines = binx(*command, "--reverse"), binx(*command, "--format", "json")
    assert (undone.code, lines.code) == (ExitCode.USAGE, ExitCode.USAGE)
    assert "a LOAD DATA cannot be undone" in undone.err
    assert "--local-load applies only to --format sql" in lines.err
