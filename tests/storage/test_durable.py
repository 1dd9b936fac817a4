"""Many files brought to the disk together: all of them, and before they are said to be there."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from binx.errors import OutputError
from binx.storage.output import synchronize
from binx.storage.store import LocalStore

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


def test_nothing_is_nothing() -> None:
    synchronize([])
