"""Examples of help texts and manual pages are run on the shop's logs, without Spark and servers."""

from __future__ import annotations

import gzip
import shlex
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from binx.cli.application import ENTRIES, EXAMPLES, load_command
from tests.cli.conftest import Shop
from tests.cli.forking import forking
from tests.cli.process import binx, environment

GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"
MINIMAL = "bf1c133d-e590-11f1-8de0-02fc00000001:821-1216"
"""The transactions of the shop's third log, whose images are minimal."""
SINCE, UNTIL = "2026-11-21 09:30", "2026-11-21 09:45"


def examples() -> list[str]:
    lines = list(EXAMPLES)
    for entry in ENTRIES:
        command = load_command(entry.name)
        assert command.examples
        lines += [example.line for example in command.examples]
    return lines


def prepare(folder: Path, shop: Shop) -> Path:
    """A folder with the shop's logs, dumps, a backup, and ``binx`` on its PATH."""
    for path in shop.folder.glob("mysql-bin.*"):
        shutil.copy(path, folder)
    script = folder / "bin" / "binx"
    script.parent.mkdir()
    script.write_text(forking().stand_in())
    script.chmod(0o755)
    shutil.copy(folder / "mysql-bin.000003", folder / "bin" / "mysql-bin.000042")
    for name in ("source", "replica"):
        (folder / name).mkdir()
        for log in shop.logs:
            shutil.copy(log, folder / name)
    (folder / "full-backup").mkdir()
    (folder / "full-backup" / "xtrabackup_binlog_info").write_text("mysql-bin.000001\t4\n")
    note = "-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000001', SOURCE_LOG_POS=4;\n"
    dump = (
        note
        + "USE `shop`;\nCREATE TABLE `orders` (`id` int PRIMARY KEY);\nINSERT INTO `orders` VALUES (1);\n"
    )
    for name in ("dump.sql.gz", "shop.sql.gz"):
        (folder / name).write_bytes(gzip.compress(dump.encode()))
    (folder / "shop.sql").write_text(dump)
    (folder / "all.sql.zst").write_bytes(zstandard.compress(dump.encode()))
    pq.write_table(pa.table({"id": [1]}), folder / "shop.orders.parquet")
    (folder / "schema.sql").write_text("CREATE TABLE orders (id BIGINT UNSIGNED NOT NULL PRIMARY KEY);\n")
    return folder


def needs_spark(line: str) -> bool:
    """Whether an example starts Spark."""
    return line.startswith(("binx load", "binx erase", "spark-submit")) or "--engine spark" in line


def needs_server(line: str) -> bool:
    """Whether an example needs a running server, or is about what was pulled from one."""
    return line.startswith(("binx pull", "binx serve", "mysql -e")) or "--execute" in line


EVERY = [line for line in examples() if not needs_server(line)]


@pytest.fixture(scope="module")
def place(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where most examples are run, beside an archive of the logs."""
    folder = prepare(tmp_path_factory.mktemp("examples"), shop)
    assert binx("archive", folder / "mysql-bin.index", "--to", folder / "archive").code == 0
    assert binx("to-parquet", *shop.logs, "-o", folder / "lake").code == 0
    return folder


@pytest.fixture(scope="module")
def mariadb_place(mariadb_shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where those examples are run that MariaDB's mysqlbinlog has a part in."""
    return prepare(tmp_path_factory.mktemp("mariadb"), mariadb_shop)


@cache
def committed(folder: Path, gtid: str) -> datetime:
    """When a transaction was committed."""
    listed = binx("ls", "--columns", "time", "--gtid", gtid, folder)
    return datetime.fromisoformat(listed.out.strip())


def with_values(line: str, shop: Shop) -> str:
    """An example with the shop's own GTID and times in place of those that it shows.

    No server runs here: what is for one is passed on. Where deletes are undone, those are left out that the
    shop logged with minimal images, as binx's refusal advises. Where the output is a reversed log, the
    transaction is one without products, whose columns moved later.
    """
    gtid = shop.demo["gtid"]
    moment = committed(shop.folder, gtid)
    if "--reverse" in line and "--format" not in line:
        gtid = gtid.replace("1006", "824")
    span = [f"{moment + timedelta(minutes=minutes):%Y-%m-%d %H:%M}" for minutes in (-5, 5)]
    for shown, real in [
        (GTID, gtid),
        ("UUID:1006", gtid),
        (SINCE, span[0]),
        (UNTIL, span[1]),
        ("| less", "| cat"),
        ("- | mysql", "- | cat"),
        ("--operations delete ", f"--operations delete --exclude-gtid {MINIMAL} "),
        ("mysql-bin.000042", "bin/mysql-bin.000042"),
    ]:
        line = line.replace(shown, real)
    return line


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an example as a shell does; skip the test where one of its programs is not installed."""
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{environment()['PATH']}"
    for program in programs(line):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", line],
        cwd=folder,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


SHELL = set("|&;<>$`\\\n{")
"""What only a shell understands, beside quotes and patterns of names."""


def shell_free(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an example that needs no shell, with the names that its patterns stand for."""
    program, *words = shlex.split(line)
    assert program == "binx"
    arguments = [name for word in words for name in (matching(word, folder) if "*" in word else [word])]
    ended = binx(*arguments, cwd=folder)
    assert "Traceback" not in ended.err
    return subprocess.CompletedProcess([program, *arguments], ended.code, ended.out, ended.err)


def matching(pattern: str, folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob(pattern)) or [pattern]


def programs(line: str) -> list[str]:
    """The first word of each part of a pipeline."""
    words = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="|>")
    words.whitespace_split = True
    found = list(words)
    return [word for before, word in pairwise(["|", *found]) if before == "|"]


def is_mariadbs_reader() -> bool:
    """Whether the installed mysqlbinlog is MariaDB's, which does not read logs of a new MySQL."""
    if shutil.which("mysqlbinlog") is None:
        return False
    said = subprocess.run(["mysqlbinlog", "--version"], capture_output=True, text=True, check=False).stdout
    return "MariaDB" in said or " Ver 3." in said


@pytest.mark.parametrize("line", [line for line in EVERY if not needs_spark(line)])
def test_example(line: str, shop: Shop, place: Path, mariadb_shop: Shop, mariadb_place: Path) -> None:
    if "mysqlbinlog" in line and is_mariadbs_reader():
        shop, place = mariadb_shop, mariadb_place
        line = line.replace(" --skip-gtids", "")
    line = with_values(line, shop)
    for output in ("one.binlog", "undo.sql"):
        (place / output).unlink(missing_ok=True)
    done = shell_free(line, place) if not SHELL & set(line) else run(line, place)
    # Some of the shop's changes are logged as statements, which `state` lists as a loss.
    # A column that an undone transaction wrote was dropped later.
    losses = 3 if line.startswith("binx state") or "state('" in line or "--reverse" in line else 0
    assert done.returncode in (0, losses), done.stderr
