"""Inputs: what paths mean, in which order their files come, and how far reading has come."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from binx.errors import AbsentError, NotABinlogError, SourceError, UsageError
from binx.log.inputs import expand_paths, open_chain, open_logs


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


def test_an_index_that_lists_a_log_that_is_not_there(folder: Path) -> None:
    (folder / "mysql-bin.000002").unlink()
    with pytest.raises(AbsentError, match=r"lists mysql-bin\.000002, which is not there"):
        expand_paths([str(folder / "mysql-bin.index")])


@pytest.mark.parametrize(("content", "expected"), [(b"", "found none"), (b"a\0b\n", "binary data")])
def test_an_index_that_is_no_list(folder: Path, content: bytes, expected: str) -> None:
    (folder / "mysql-bin.index").write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        expand_paths([str(folder / "mysql-bin.index")])


def test_an_index_that_is_not_there(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"no\.index: cannot be opened"):
        expand_paths([str(folder / "no.index")])


def test_a_log_that_is_named_like_an_index_is_a_log(folder: Path) -> None:
    log = folder / "copy.index"
    shutil.copy(folder / "mysql-bin.000001", log)
    assert expand_paths([str(log)]) == [str(log)]


def test_a_folder_is_refused_with_the_pattern_to_use(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"name its files: .*/\*"):
        expand_paths([str(folder)])


def test_standard_input_can_be_named_once(folder: Path) -> None:
    assert expand_paths(["-", logs(folder)[0]]) == ["-", logs(folder)[0]]
    with pytest.raises(UsageError, match="only once"):
        expand_paths(["-", "-"])


def test_a_chain_comes_in_the_order_in_which_it_was_written(folder: Path) -> None:
    with open_chain(logs(folder)[::-1]) as chain:
        assert [ends.file.path for ends in chain] == logs(folder)
        assert str(chain[1].previous_gtids).endswith(":1-374")


def test_progress_adds_up_to_the_bytes_of_the_files(folder: Path) -> None:
    read: list[int] = []
    with open_chain(logs(folder), read.append) as chain:
        assert not read
        for ends in chain:
            for _ in ends.file.scan():
                pass
            assert ends.file.size - sum(read) <= ends.file.first_position
            read.clear()


def test_where_one_file_is_bad_none_stays_open(folder: Path) -> None:
    (folder / "mysql-bin.000003").write_bytes(b"text")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NotABinlogError), open_logs(logs(folder)):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
