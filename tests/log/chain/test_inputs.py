"""Inputs: what paths mean, in which order their files come, and how far reading has come."""

from __future__ import annotations

import gzip
import shutil
import tracemalloc
from pathlib import Path

import pytest

from binx.errors import AbsentError, NotABinlogError, SourceError, UsageError
from binx.log.chain.inputs import expand_paths, named_logs, open_chain, open_logs
from binx.log.scan import Scan
from tests.cli.process import binx


@pytest.fixture
def folder(testdata: Path, tmp_path: Path) -> Path:
    """A copy of a server's logs and its index."""
    for path in (testdata / "mysql-9.7" / "shop").glob("mysql-bin.*"):
        shutil.copy(path, tmp_path)
    return tmp_path


def logs(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("mysql-bin.0*"))


def test_an_index_stands_for_the_logs_that_it_lists(folder: Path) -> None:
    assert expand_paths([str(folder / "mysql-bin.index")]) == logs(folder)


def test_an_index_is_read_from_any_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert expand_paths(["mysql-bin.index"]) == [Path(log).name for log in logs(folder)]


def test_a_pattern_that_matches_the_index_too_takes_each_log_once(folder: Path) -> None:
    everything = sorted(map(str, folder.glob("mysql-bin.*")))
    assert expand_paths(everything) == logs(folder)


def test_an_index_with_absolute_paths_finds_logs_that_were_moved_with_it(folder: Path) -> None:
    index = folder / "mysql-bin.index"
    index.write_text("/var/lib/mysql/mysql-bin.000002\n\n/var/lib/mysql/mysql-bin.000003\n")
    assert expand_paths([str(index)]) == logs(folder)[1:3]


@pytest.mark.parametrize("place", [".\\", "C:\\ProgramData\\MySQL\\MySQL Server 8.0\\Data\\", "D:/data/"])
def test_an_index_of_a_server_on_windows_finds_the_logs_beside_it(folder: Path, place: str) -> None:
    index = folder / "mysql-bin.index"
    names = [Path(log).name for log in logs(folder)]
    index.write_bytes("".join(f"{place}{name}\r\n" for name in names).encode())
    assert expand_paths([str(index)]) == logs(folder)
    assert expand_paths([str(folder)]) == logs(folder)


def test_the_place_in_an_index_is_known_of_logs_that_a_pattern_finds_too(folder: Path) -> None:
    found = named_logs(sorted(map(str, folder.glob("mysql-bin.*"))))
    assert [log.listed and log.listed.place for log in found] == list(range(len(logs(folder))))


def test_an_index_that_lists_a_log_that_is_not_there(folder: Path) -> None:
    (folder / "mysql-bin.000002").unlink()
    with pytest.raises(AbsentError, match=r"lists mysql-bin\.000002, which does not exist"):
        expand_paths([str(folder / "mysql-bin.index")])


@pytest.mark.parametrize(("content", "expected"), [(b"", "found an empty one"), (b"a\0b\n", "binary data")])
def test_an_index_that_is_no_list(folder: Path, content: bytes, expected: str) -> None:
    (folder / "mysql-bin.index").write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        expand_paths([str(folder / "mysql-bin.index")])


def test_an_index_of_one_endless_line_takes_no_memory(folder: Path) -> None:
    index = folder / "mysql-bin.index"
    with index.open("wb") as file:
        for _ in range(100):
            file.write(b"a" * (1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="a line of more than 4096 bytes"):
            expand_paths([str(index)])
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"\xfe\xfe\x0c\x01" + bytes(60), b""])
def test_mariadb_s_index_of_a_log_is_no_log(folder: Path, content: bytes) -> None:
    """MariaDB 11.4 and later keep one beside each log."""
    expected = logs(folder)[:2]
    for log in logs(folder)[2:]:
        Path(log).unlink()
    for log in expected:
        Path(f"{log}.idx").write_bytes(content)
    assert expand_paths(logs(folder)) == expected
    assert expand_paths([str(folder / "mysql-bin.0*")]) == expected
    given = sorted(map(str, folder.glob("mysql-bin.0*")))
    for command in ("ls", "events", "stats", "verify", "index"):
        assert binx(command, *given).code == 0, command
    assert binx("extract", "-o", folder / "slice", *given).code == 0
    assert binx("to-parquet", "-o", folder / "lake", *given).code == 0
    with pytest.raises(UsageError, match="only index files"):
        expand_paths([f"{expected[0]}.idx"])


def test_an_index_that_is_not_there(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"no\.index: cannot be opened"):
        expand_paths([str(folder / "no.index")])


def test_a_log_that_is_named_like_an_index_is_a_log(folder: Path) -> None:
    log = folder / "copy.index"
    shutil.copy(folder / "mysql-bin.000001", log)
    assert expand_paths([str(log)]) == [str(log)]


def test_a_folder_stands_for_the_logs_that_its_index_lists(folder: Path) -> None:
    index = folder / "mysql-bin.index"
    index.write_text("".join(index.read_text().splitlines(keepends=True)[:3]))
    assert expand_paths([str(folder)]) == logs(folder)[:3]


def test_a_folder_without_an_index_stands_for_the_files_that_begin_like_logs(folder: Path) -> None:
    (folder / "mysql-bin.index").unlink()
    (folder / "notes.000009").write_text("no log")
    (folder / "backup.tar.gz").write_bytes(gzip.compress(b"no log"))
    (folder / "sub.000001").mkdir()
    with_others = folder / "mysql-bin.000002"
    (folder / "mysql-bin.000002.gz").write_bytes(gzip.compress(with_others.read_bytes()))
    (folder / "mysql-bin.000006.gz").write_bytes(gzip.compress(with_others.read_bytes()))
    plain = [log for log in logs(folder) if not log.endswith(".gz")]
    assert expand_paths([str(folder)]) == [*plain, str(folder / "mysql-bin.000006.gz")]


def test_of_a_replica_s_folder_the_binary_logs_are_taken(folder: Path) -> None:
    shutil.copy(folder / "mysql-bin.000001", folder / "host-relay-bin.000001")
    (folder / "host-relay-bin.index").write_text("./host-relay-bin.000001\n")
    assert expand_paths([str(folder)]) == logs(folder)
    (folder / "mysql-bin.index").unlink()
    assert expand_paths([str(folder)]) == [str(folder / "host-relay-bin.000001")]


def test_a_folder_without_logs_is_reported(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("none")
    with pytest.raises(AbsentError, match="found none"):
        expand_paths([str(tmp_path)])


def test_a_listed_log_that_was_compressed_is_found(folder: Path) -> None:
    log = folder / "mysql-bin.000002"
    (folder / "mysql-bin.000002.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    found = expand_paths([str(folder / "mysql-bin.index")])
    assert found[1] == f"{log}.gz"


def test_a_pattern_that_no_shell_expanded_is_expanded(folder: Path) -> None:
    assert expand_paths([str(folder / "mysql-bin.00000[23]")]) == logs(folder)[1:3]
    assert expand_paths([str(folder / "nothing.*")]) == [str(folder / "nothing.*")]
    strange = folder / "mysql-bin[1].000001"
    shutil.copy(folder / "mysql-bin.000001", strange)
    assert expand_paths([str(strange)]) == [str(strange)]


def test_standard_input_can_be_named_once(folder: Path) -> None:
    assert expand_paths(["-", logs(folder)[0]]) == ["-", logs(folder)[0]]
    with pytest.raises(UsageError, match="only once"):
        expand_paths(["-", "-"])


def test_a_chain_comes_in_the_order_in_which_it_was_written(folder: Path) -> None:
    with open_chain(logs(folder)[::-1]) as chain:
        assert [ends.file.path for ends in chain] == logs(folder)
        assert str(chain[1].facts.previous_gtids).endswith(":1-374")


def test_progress_adds_up_to_the_bytes_of_the_files(folder: Path) -> None:
    read: list[int] = []
    with open_chain(logs(folder), read.append) as chain:
        assert not read
        for ends in chain:
            for _ in Scan(ends.file):
                pass
            assert ends.file.size - sum(read) <= ends.file.first_position
            read.clear()


def test_where_one_file_is_bad_none_stays_open(folder: Path) -> None:
    (folder / "mysql-bin.000003").write_bytes(b"text")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NotABinlogError), open_logs(logs(folder)):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
