"""Transactions, events by type, and rows by table and operation: binx and the servers' own readers agree.

MySQL's mysqlbinlog judges logs of MySQL from 5.6 on; mariadb-binlog judges those of MariaDB and older ones,
whose rows events MySQL's reader no longer knows. The files on which they disagree stand here, each with the
reason, and in docs/comparison.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import BinxError
from tests.conftest import CORPUS, PROJECT, TESTDATA
from tests.stats.mysqlbinlog import Counts, count_listing, count_with_binx, find_reader, print_log

NO_METADATA = (
    "MySQL 5.1 before 5.1.18 wrote table maps without column metadata, so rows cannot be delimited;"
    " mariadb-binlog lists the events without rows, binx stops at the first table map"
)
GEOMETRY = "mysqlbinlog does not support GEOMETRY: it prints only the first row, up to that column"
ORPHAN = (
    "made for recovery tests: a transaction without an end, or an end without a transaction; mysqlbinlog"
    " prints the events one by one, binx reports them as damage"
)
FRACTIONS = (
    "rows of times with fractions of before MariaDB 10.1, whose size the log does not tell: mariadb-binlog"
    " prints none of them, binx counts those that it can delimit"
)

DISAGREEMENTS = {
    "5.1.15-ndb-6.1.24-debug-log-207c45.binlog": NO_METADATA,
    "5.1.17-beta-debug-log-0f9095.binlog": NO_METADATA,
    "8.0.30-tr-debug-049fdb.binlog": ORPHAN,
    "8.0.30-tr-debug-2d0c80.binlog": ORPHAN,
    "8.0.30-tr-debug-e2cdfa.binlog": ORPHAN,
    "mariadb-10.11/small/times_with_fractions.binlog": FRACTIONS,
    "mysql-9.7/small/all_types.binlog": GEOMETRY,
    "mysql-9.7/small/all_types_minimal_metadata.binlog": GEOMETRY,
}

START_V3 = "binary log format of MySQL 3.23 to 4.1 (START_V3)"
PATCHED = "a patched server of 5.1 with longer event headers"

REFUSED = {
    "3.23.32-debug-log-670768.binlog": START_V3,
    "4.0.16-debug-log-e6dec0.binlog": START_V3,
    "4.1.24-debug-log-c87438.binlog": START_V3,
    "4.1.26-debug-log-4a4193.binlog": START_V3,
    "5.1.63-google-debug-log-467f72.binlog": PATCHED,
    "5.1.63-google-debug-log-a81636.binlog": PATCHED,
    "5.2.2-a-drop6p13-debug-log-42d1fb.binlog": "a development tree that numbered its events differently",
    "8.0.13-3-debug-c6babc.binlog": "encrypted by Percona Server",
    "unreadable-2a9e3b.binlog": "ends inside the header of its first event",
    "unreadable-633192.binlog": "does not begin like a binary log",
    "unreadable-8e1454.binlog": "encrypted by MySQL",
}
"""Files that binx says it cannot read; the readers print nothing of most of them."""


def corpus_files() -> list[Path]:
    return sorted((CORPUS / "files").glob("*.binlog"))


def with_listing() -> list[Path]:
    return sorted(path for path in TESTDATA.glob("*/small/*.binlog") if path.with_suffix(".txt").exists())


def shop_files() -> list[Path]:
    return sorted(TESTDATA.glob("*/shop/mysql-bin.0*")) + sorted(TESTDATA.glob("*/in-use/mysql-bin.0*"))


def name_of(path: Path) -> str:
    """A file's name in the tables above."""
    return path.name if CORPUS in path.parents else path.relative_to(TESTDATA).as_posix()


def compare(path: Path, theirs: Counts) -> None:
    ours = count_with_binx(path, verify=False)
    if name_of(path) in DISAGREEMENTS:
        assert ours != theirs, f"{name_of(path)} does not disagree any more"
        return
    assert ours.transactions == theirs.transactions
    assert ours.events == theirs.events
    assert ours.rows == theirs.rows


@pytest.mark.parametrize("path", with_listing(), ids=name_of)
def test_the_small_logs_hold_what_the_listing_beside_them_says(path: Path) -> None:
    compare(path, count_listing(path.with_suffix(".txt").read_bytes()))


@pytest.mark.parametrize("path", shop_files(), ids=name_of)
def test_the_shops_logs_hold_what_their_servers_reader_prints(path: Path, tmp_path: Path) -> None:
    compare(path, listing_of(path, tmp_path))


@pytest.mark.sweep
@pytest.mark.parametrize("path", corpus_files(), ids=name_of)
def test_logs_of_old_and_odd_servers_hold_what_a_servers_reader_prints(
    corpus: Path, path: Path, tmp_path: Path
) -> None:
    if name_of(path) in REFUSED:
        with pytest.raises(BinxError):
            count_with_binx(path)
        return
    compare(path, listing_of(path, tmp_path))


def test_every_file_that_is_listed_here_is_there(corpus: Path) -> None:
    names = {name_of(path) for path in [*corpus_files(), *with_listing()]}
    assert names >= DISAGREEMENTS.keys() | REFUSED.keys()


def test_every_disagreement_stands_in_the_documentation() -> None:
    text = (PROJECT / "docs" / "comparison.md").read_text()
    plain = " ".join(text.split())
    for reason in {*DISAGREEMENTS.values(), *REFUSED.values()}:
        assert reason in plain


def listing_of(path: Path, folder: Path) -> Counts:
    reader = find_reader(path)
    if reader is None:
        pytest.skip("the server's reader of binary logs that can judge this file is not on this machine")
    text, _ = print_log(reader, path, folder)
    return count_listing(text)
