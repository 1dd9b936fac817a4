"""Many files brought to the disk together: all of them, and before they are said to be there."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from binx.errors import OutputError
from binx.export.durable import begin_to_synchronize, begin_to_synchronize_small, synchronize
from binx.export.hashed_stream import HashedStream, Room
from binx.export.store import LocalStore

MANY = 100


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is brought to the disk and what is renamed, by the number of the file or folder, in order."""
    steps: list[tuple[str, int]] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        steps.append(("synced", os.fstat(descriptor).st_ino))

    def replaced(source: Any, target: Any) -> None:
        steps.append(("renamed", Path(source).stat().st_ino))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    return steps


def in_order(steps: list[tuple[str, int]], paths: list[Path]) -> bool:
    """Whether each file is brought to the disk, then all are renamed, then their folders follow."""
    files = {path.stat().st_ino for path in paths}
    folders = {path.parent.stat().st_ino for path in paths}
    what = [(step, number) for step, number in steps if number in files | folders]
    first, second = len(files), 2 * len(files)
    return (
        set(what[:first]) == {("synced", number) for number in files}
        and set(what[first:second]) == {("renamed", number) for number in files}
        and set(what[second:]) == {("synced", number) for number in folders}
    )


def test_files_that_are_taken_are_on_the_disk_before_they_are_moved(
    tmp_path: Path, told: list[tuple[str, int]]
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    names = [f"{number % 5}/{number}.parquet" for number in range(MANY)]
    files = [aside / str(number) for number in range(MANY)]
    for path in files:
        path.write_bytes(b"rows")
    LocalStore(tmp_path / "lake").take(zip(map(str, files), names, strict=True))
    assert in_order(told, [tmp_path / "lake" / name for name in names])


def test_what_cannot_be_brought_there_is_told_and_nothing_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "rows").write_bytes(b"rows")
    with pytest.raises(OutputError, match="rows: cannot be written: no space left"):
        synchronize([tmp_path / "rows"])
    with pytest.raises(OutputError, match="no space left"):
        LocalStore(tmp_path / "lake").take([(str(tmp_path / "rows"), "rows")])
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_a_file_whose_way_to_the_disk_has_begun_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with path.open("wb") as file:
        file.write(b"rows")
        file.flush()
        begin_to_synchronize_small(file.fileno(), 4)
        file.write(b" and rows")
        file.flush()
        begin_to_synchronize(file.fileno(), 4, 13)
    assert path.read_bytes() == b"rows and rows"


def test_a_large_file_is_on_its_way_part_by_part_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, start, size, advice: asked.append((start, size)))
    piece = bytes(700_000)
    for _ in range(5):
        stream = HashedStream(str(tmp_path / "rows"), hashlib.sha256())
        for _ in range(4):
            stream.write(piece)
        stream.close(is_whole=False)
    assert [start for start, _ in asked] == [*itertools.accumulate((size for _, size in asked), initial=0)][
        :-1
    ]
    left = 20 * len(piece) - sum(size for _, size in asked)
    assert len(asked) > 1
    assert 0 <= left < min(size for _, size in asked)


@pytest.mark.parametrize("size", [1, 20 << 20])
def test_what_is_soon_removed_is_not_on_its_way(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("the system was told")

    monkeypatch.setattr(os, "posix_fadvise", asked)
    stream = HashedStream(str(tmp_path / "fragment"), None)
    stream.write(bytes(size))
    stream.close(is_whole=False)


def test_bytes_of_files_that_rest_wait_in_the_room_that_they_share_and_no_more(tmp_path: Path) -> None:
    room = Room(10)
    first, second = (HashedStream(str(tmp_path / name), None, room) for name in ("first", "second"))
    first.write(b"123456")
    first.rest()
    first.write(b"78")
    first.rest()
    second.write(b"123")
    second.rest()
    assert [path.name for path in tmp_path.iterdir()] == ["second"]
    second.close(is_whole=True)
    first.close(is_whole=True)
    assert (tmp_path / "first").read_bytes() == b"12345678"
    assert (tmp_path / "second").read_bytes() == b"123"
    assert room.take(10)
    assert not room.take(1)


def test_nothing_is_nothing() -> None:
    synchronize([])
