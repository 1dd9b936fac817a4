"""Values that rules drop or hash are in no byte of what ``to-parquet`` and ``load`` write."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.cli.run import run
from binx.lake.options import LoadOptions
from binx.spark.load_run import load
from testdata.servers import Server
from tests.live.tables_at_end import read_rows

RULES = (
    "--drop-columns", "shop.users.ssn*", "--hash-columns", "shop.users.email",
    "--hash-columns", "shop.users.kind", "--hash-columns", "SHOP.users.born",
    "--hash-columns", "shop.users.profile:$.phone", "--drop-columns", "shop.users.profile:$.deep[*].x",
)  # fmt: skip
KEY = b"0123456789abcdef0123456789abcdef"
PLAIN = "this may be seen"


def canary() -> str:
    """A text that nothing else has."""
    return f"canary{secrets.token_hex(6)}"


KIND = canary()


def hashed(value: str) -> str:
    """What stands for a value."""
    return hmac.new(KEY, value.encode(), hashlib.sha256).hexdigest()


def canaries(folder: Path) -> set[bytes]:
    """The canaries in any byte of a folder's files, as they are and decompressed."""
    found: set[bytes] = set()
    for path in folder.rglob("*"):
        contents = [path.read_bytes()] if path.is_file() else []
        if path.suffix == ".gz":
            contents.append(gzip.decompress(contents[0]))
        if path.suffix == ".parquet":
            table = pq.ParquetFile(path).read()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            contents += [sink.getvalue().to_pybytes(), repr(table.to_pylist()).encode()]
        for content in contents:
            found |= set(re.findall(rb"canary[0-9a-f]{12}", content))
    return found


@pytest.fixture
def email(server: Server) -> str:
    """Traffic with canaries in every place that a statement or a row has; the last e-mail of user 1."""
    server.sql("DROP DATABASE IF EXISTS shop")
    server.reset()
    last = canary()
    document = f"JSON_OBJECT('phone', '%s', 'n', 1.50, 'deep', JSON_ARRAY(JSON_OBJECT('x', '%s'))), '{PLAIN}'"
    rows = ", ".join(
        f"({place}, '{canary()}', '{canary()}', '{KIND}', 'x',"
        f" '{'0000-00-00' if place == 1 else '2001-02-03'}', {document % (canary(), canary())})"
        for place in range(1, 6)
    )
    partial = "" if server.daemon == "mariadbd" else "binlog_row_value_options = PARTIAL_JSON, "
    server.sql(
        f"""SET sql_mode = '';
        CREATE DATABASE shop; USE shop;
        CREATE TABLE users (id INT PRIMARY KEY, email VARCHAR(60) DEFAULT '{canary()}',
            ssn VARCHAR(60) DEFAULT '{canary()}' COMMENT '{canary()}', kind ENUM('{KIND}', '{canary()}'),
            ssn3 SET('x', '{canary()}'), born DATE,
            profile JSON, note TEXT);
        INSERT INTO users VALUES {rows};
        SET {partial}binlog_row_image = MINIMAL;
        UPDATE users SET profile = JSON_SET(profile, '$.phone', '{canary()}', '$.n', 7) WHERE id = 1;
        UPDATE users SET profile = JSON_SET(profile, '$.deep[0].x', '{canary()}') WHERE id = 2;
        INSERT INTO users (id) VALUES (77);
        UPDATE users SET email = '{last}' WHERE id = 1;
        ALTER TABLE users ADD COLUMN ssn2 VARCHAR(40) DEFAULT '{canary()}',
            MODIFY email VARCHAR(80) NOT NULL DEFAULT '{canary()}';
        ALTER TABLE users ADD CHECK (note <> '{canary()}'), COMMENT = '{canary()}';
        CREATE VIEW v AS SELECT * FROM users WHERE email <> '{canary()}';
        CREATE PROCEDURE p() UPDATE users SET email = '{canary()}';
        FLUSH LOGS;
        INSERT INTO users (id, email) VALUES (78, '{canary()}');
        INSERT INTO users (id, kind) VALUES (79, '{KIND}');
        SET binlog_format = STATEMENT; SET @x = '{canary()}';
        UPDATE users SET email = CONCAT(@x, '{canary()}') WHERE id = 3; UPDATE v SET note = '{canary()}';
        FLUSH LOGS"""
    )
    return last


@pytest.fixture
def export(server: Server, tmp_path: Path, email: str) -> Callable[..., int]:
    """Exports the logs with the rules."""
    (tmp_path / "key").write_bytes(KEY + b"\n")
    more = ("--hash-key", str(tmp_path / "key"), "--quiet")

    def export(output: Path, *given: str, logs: Sequence[Path] = ()) -> int:
        paths = map(str, logs or server.binlogs()[:-1])
        return run(["to-parquet", *paths, "-o", str(output), *RULES, *more, *given])

    return export


def test_no_byte_of_a_data_set_or_of_its_tables_has_a_value_that_rules_are_about(
    server: Server, export: Callable[..., int], tmp_path: Path, email: str, spark: Any
) -> None:
    # One by one, each goes on from what the one before has left.
    for log in server.binlogs()[:-1]:
        assert export(tmp_path / "data", logs=[log]) == 0
    load(
        LoadOptions((str(tmp_path / "data"),), str(tmp_path / "lake"), scd2=True),
        lambda: nullcontext(spark),
    )
    assert canaries(tmp_path / "data") | canaries(tmp_path / "lake") == set()
    rows = {row["id"]: row for row in read_rows(tmp_path / "lake", ("shop", "users"))}
    assert sorted(rows) == [1, 2, 3, 4, 5, 77, 78, 79]
    assert not {"ssn", "ssn2"} & set(rows[1])
    assert rows[1]["email"] == hashed(email)
    assert {rows[number]["kind"] for number in (1, 79)} == {hashed(KIND)}
    assert rows[1]["note"] == PLAIN
    assert (rows[1]["born"], rows[2]["born"]) == (hashed("0000-00-00"), hashed("2001-02-03"))
    assert len(rows[4]["email"]) == len(hashed(""))
    assert (rows[77]["email"], rows[77]["_unknown"]) == (None, ["email"])


def test_sparks_tasks_write_the_same(
    export: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any
) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    monkeypatch.setattr("binx.spark.session.local_session", lambda **_: nullcontext(spark))
    assert export(tmp_path / "native") == export(tmp_path / "spark", "--engine", "spark") == 0
    assert files(tmp_path / "native") == files(tmp_path / "spark")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("RENAME TABLE users TO people", "renamed to shop.people"),
        ("ALTER TABLE users CHANGE email mail VARCHAR(80)", "email is renamed to mail"),
    ],
)
def test_a_name_for_which_other_rules_hold_ends_the_export(
    server: Server, export: Callable[..., int], tmp_path: Path, capfd: Any, statement: str, told: str
) -> None:
    server.sql(statement, db="shop")
    server.flush_logs()
    logs = [str(log) for log in server.binlogs()[:-1]]
    arguments = [
        "to-parquet",
        *logs,
        "-o",
        str(tmp_path / "data"),
        *RULES,
        "--hash-key",
        str(tmp_path / "key"),
    ]
    assert run(arguments) == 1
    assert told in capfd.readouterr().err
