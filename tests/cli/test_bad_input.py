"""Inputs that are no binary log, or no whole one: clear messages, right exit codes, nothing half-written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.cli.conftest import Shop
from tests.cli.process import Ended, binx

Run = Callable[..., Ended]


@pytest.fixture(params=["ls", "stats", "extract", "to-parquet"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Each command that reads logs, with an output that is looked at afterwards where it has one."""
    command = str(request.param)
    target = tmp_path / "output"

    def call(*arguments: str | Path, **settings: object) -> Ended:
        outputs = ["-o", target] if command in ("extract", "to-parquet") else []
        ended = binx(command, *outputs, *arguments, **settings)  # type: ignore[arg-type]
        assert "Traceback" not in ended.err
        if target.is_dir():
            left = {path.name for path in target.rglob("*")}
            assert left <= {"_lock", "_manifest", "_staging"}
        else:
            assert not target.exists()
        assert not list(tmp_path.glob(".binx-*"))
        return ended

    return call


def assert_fails(ended: Ended, *said: str, code: int = 1) -> None:
    assert ended.err.startswith("binx: error: ")
    assert ended.err.count("\n") == (1 if code != 2 else ended.err.count("\n"))
    assert all(part in ended.err for part in said), ended.err
    assert ended.code == code


def test_missing_file(run: Run) -> None:
    assert_fails(run("nowhere.000001"), "nowhere.000001: cannot be opened: No such file or directory")


def test_text_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list\n")
    assert_fails(run(path), str(path), "expected")


def _tablespace() -> bytes:
    page = bytearray(16384)
    page[24:26] = b"\x00\x08"
    page[34:38] = page[38:42] = (7).to_bytes(4)
    return bytes(page)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lzma.compress(b"log"), "found an xz file; decompress it: xz -dk FILE"),
        (b"PAR1" + bytes(20) + b"PAR1", "found a Parquet file; binx query, state and load take the folder"),
        (bz2.compress(b"log"), "found a bzip2 file; decompress it"),
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "found an lz4 file; decompress it"),
        (b"PK\x03\x04\x14", "found a zip archive; unpack"),
        (b"-- MySQL dump 10.13  Distrib 8.4.3, for Linux\n", "found an SQL dump; binx base takes"),
        (b"/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump", "found an SQL dump"),
        (b"-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB\n", "found an SQL dump"),
        (
            b"# The proper term is pseudo_replica_mode, but we use",
            "mysqlbinlog or mariadb-binlog printed; give",
        ),
        (b"\xfe\xfe\x0c\x01" + bytes(60), "found MariaDB's GTID index of a binary log; give the log"),
        (b"\xfe\xfe\x0d\x01" + bytes(60), "keeps in InnoDB (binlog_storage_engine=innodb); binx does not"),
        (b"Phys".ljust(16, b"\x00") + b"MariaDB 11.8.2", "found an InnoDB redo log; give"),
        (b"\x00\x00\x00\x06".ljust(16, b"\x00") + b"MySQL 8.4.3", "found an InnoDB redo log; give"),
        (_tablespace(), "found an InnoDB tablespace (.ibd, ibdata1); give"),
    ],
)
def test_file_of_another_format_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(content)
    ended = binx("ls", path)
    assert_fails(ended, f"{path}, offset 0: expected a binary log", said)
    assert "salvage" not in ended.err


def test_tar_archive_is_named_also_inside_gzip_and_zstd(tmp_path: Path) -> None:
    archive = tmp_path / "logs.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(__file__, "binlog.000001")
    data = archive.read_bytes()
    (tmp_path / "logs.tar.gz").write_bytes(gzip.compress(data))
    (tmp_path / "logs.tar.zst").write_bytes(zstandard.compress(data))
    for name in ("logs.tar", "logs.tar.gz", "logs.tar.zst"):
        assert_fails(
            binx("ls", tmp_path / name), name, "found a tar archive; unpack the logs in it: tar -xf FILE"
        )


@pytest.mark.skipif(not shutil.which("mariadb-binlog"), reason="needs mariadb-binlog")
def test_output_of_mariadb_binlog_is_named(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "printed.sql"
    path.write_bytes(
        subprocess.run(["mariadb-binlog", shop.logs[0]], capture_output=True, check=False).stdout
    )
    assert_fails(binx("ls", path), "found text that mysqlbinlog or mariadb-binlog printed")


def test_empty_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.000001"
    path.touch()
    assert_fails(run(path), f"{path}: expected a binary log, found an empty file")


def test_empty_standard_input(run: Run) -> None:
    assert_fails(run("-"), "-: expected a binary log, found an empty file")


def test_closed_standard_input() -> None:
    ended = binx("ls", "-", prefix=("sh", "-c", 'exec "$@" <&-', "sh"))
    assert_fails(ended, "-: cannot be read: standard input is closed")


@pytest.mark.parametrize("option", ["--memory", "--row-group-rows", "--jobs"])
def test_numbers_beyond_all_bounds(shop: Shop, tmp_path: Path, option: str) -> None:
    ended = binx("to-parquet", shop.logs[0], "-o", tmp_path / "lake", option, "9" * 20)
    assert_fails(ended, f"Invalid value for '{option}': ", "is not in the range", code=2)


def test_numbers_below_the_least(shop: Shop) -> None:
    ended = binx("stats", "--top", "0", shop.logs[0])
    assert_fails(ended, "Invalid value for '--top': expected a number of at least 1, found 0", code=2)


def test_a_quote_that_is_not_closed(shop: Shop) -> None:
    ended = binx("ls", "--where", "status = 'paid", shop.logs[0])
    assert_fails(ended, 'found "status = \'paid": a quote or a comment is not closed', code=2)


def test_a_data_set_in_place_of_logs(shop: Shop, tmp_path: Path) -> None:
    binx("to-parquet", shop.logs[0], "-o", tmp_path)
    for command in ("ls", "verify"):
        assert_fails(
            binx(command, tmp_path), "found a data set, which binx query, state and load read", code=4
        )


def test_pipe_by_its_name(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert_fails(run(pipe), f"{pipe}: expected a file, found a pipe; read it as standard input")


def test_folder_without_logs(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "no logs"
    folder.mkdir()
    assert_fails(run(folder), str(folder), "expected binary logs in the folder, found none", code=4)


def test_file_without_permission(run: Run, shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "secret.000001"
    shutil.copy(shop.logs[0], path)
    path.chmod(0)
    prefix: list[str] = []
    if os.geteuid() == 0:
        # Root reads everything, unless it gives up the capabilities to do so.
        rights = "-dac_override,-dac_read_search"
        prefix = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
        if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], check=False).returncode:
            pytest.skip("root cannot give up its rights here")
    assert_fails(run(path, prefix=prefix), f"{path}: cannot be opened: Permission denied")


def test_cut_in_the_head(run: Run, shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "head.000001"
    path.write_bytes(shop.logs[0].read_bytes()[:60])
    ended = run(path)
    assert ended.code == 1
    assert str(path) in ended.err


def cut_log(shop: Shop, tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(shop.logs[0].read_bytes()[:-1000])
    return path


def test_cut_file_ends_extract_and_to_parquet(shop: Shop, tmp_path: Path) -> None:
    path = cut_log(shop, tmp_path)
    for command in ("extract", "to-parquet"):
        ended = binx(command, path, "-o", tmp_path / "output")
        assert_fails(ended, str(path), "the file is truncated inside")
        assert not list(tmp_path.rglob("*.parquet"))
        assert not list(tmp_path.rglob(".binx-*"))


def test_cut_file_is_listed_up_to_the_cut(shop: Shop, tmp_path: Path) -> None:
    ended = binx("ls", cut_log(shop, tmp_path))
    assert_fails(ended, "the file is truncated inside")
    whole = binx("ls", shop.logs[0])
    assert 0 < len(ended.lines) < len(whole.lines)
    assert ended.lines == whole.lines[: len(ended.lines)]


def test_a_transaction_before_the_cut_can_be_taken_out(shop: Shop, tmp_path: Path) -> None:
    path = cut_log(shop, tmp_path)
    first = binx("ls", "--limit", "1", path).out.split("\t")[1]
    ended = binx("extract", "--gtid", first, path, "-o", tmp_path / "output")
    assert ended.code == 0
    assert (tmp_path / "output").exists()


def test_names_of_files_cannot_drive_the_terminal(run: Run) -> None:
    ended = run("\x1b[2Jevil\u202e")
    assert ended.code == 1
    assert r"\x1b[2Jevil\u202e: cannot be opened" in ended.err


def test_bytes_that_are_no_text_in_a_name_are_shown(run: Run) -> None:
    ended = run(os.fsdecode(b"log-\xff.000001"))
    assert ended.code == 1
    assert "log-" in ended.err


def test_schema_that_is_not_there(shop: Shop, tmp_path: Path) -> None:
    ended = binx("to-parquet", "--schema", tmp_path / "no.sql", "-o", tmp_path / "lake", shop.logs[0])
    assert_fails(ended, "no.sql: cannot be read: No such file or directory")


def test_schema_without_tables(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "no.sql").write_text("SELECT 1;")
    ended = binx("to-parquet", "--schema", tmp_path / "no.sql", "-o", tmp_path / "lake", shop.logs[0])
    assert_fails(ended, "expected CREATE TABLE statements")


def test_condition_on_a_column_that_no_table_has(shop: Shop, tmp_path: Path) -> None:
    for form in ("binlog", "sql", "json", "thl"):
        ended = binx(
            "extract", "--where", "no_such = 1", "--format", form, "-o", tmp_path / "x", shop.logs[0]
        )
        assert_fails(ended, "no table has no_such", "shop.orders", code=4)
