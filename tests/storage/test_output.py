"""Output appears whole under its name or not at all: plain, encrypted, and on the disk for good."""

from __future__ import annotations

import errno
import io
import os
import pty
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from binx.archive.objects import AgeWriter
from binx.errors import EncryptedError, ExitCode, OutputError
from binx.source.age import AgeFile
from binx.storage.output import OutputStream, open_output, remove_leftovers, synchronize
from binx.storage.output_errors import ReaderGoneError, output_error
from binx.storage.store import LocalStore
from tests.log.searching import Bytes
from tests.source.ages import EXAMPLE_RECIPIENT, decrypted, everything, make_key, opened

WRITE_A_LOT = """
import sys
from binx.storage.output import open_output
from binx.storage.output_errors import ReaderGoneError
try:
    with open_output(sys.argv[1]) as output:
        for _ in range(int(sys.argv[2])):
            output.write(b"x" * 65536)
except ReaderGoneError as error:
    sys.exit(int(error.exit_code))
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "slice"
    with open_output(str(target)) as output:
        output.write(b"half")
        assert not target.exists()
    assert target.read_bytes() == b"half"
    assert names(tmp_path) == ["slice"]


def test_a_file_system_without_locks_has_output_but_no_folder_for_one_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("binx.storage.locking.fcntl.flock", refuse)
    with open_output(str(tmp_path / "slice")) as output:
        output.write(b"whole")
    (tmp_path / ".binx-0.tmp").touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".binx-0.tmp", "slice"]
    with pytest.raises(OutputError, match="_lock: cannot be written: No locks available"):
        LocalStore(tmp_path).locked().__enter__()


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3)])
def test_an_error_or_an_interrupt_leaves_nothing_new_behind(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "slice"
    target.write_bytes(b"old")

    def fail() -> None:
        with open_output(str(target)) as output:
            output.write(b"new")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["slice"]


def test_an_existing_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    target = tmp_path / "slice"
    target.write_bytes(b"old and longer")
    before = target.stat().st_ino
    with open_output(str(target)) as output:
        output.write(b"new")
        assert target.read_bytes() == b"old and longer"
    assert target.read_bytes() == b"new"
    assert target.stat().st_ino != before


def test_a_link_keeps_pointing_to_what_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "slice", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with open_output(str(link)) as output:
        output.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_mode_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with open_output(str(tmp_path / "slice")) as output:
            output.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "slice").stat().st_mode) == mode


def test_a_full_disk_is_named_and_nothing_stays_on_it(small_disk: Path) -> None:
    said = r"no space left on the file system of .*small"
    with pytest.raises(OutputError, match=said) as caught, open_output(str(small_disk / "slice")) as output:
        output.write(b"x" * (1 << 20))
    assert caught.value.path == str(small_disk / "slice")
    assert names(small_disk) == []
    with open_output(str(small_disk / "slice")) as output:
        output.write(b"x" * 32768)
    assert names(small_disk) == ["slice"]


def test_a_device_is_written_to_and_never_replaced() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OutputError, match="no space left"), open_output("/dev/full") as output:
        output.write(b"x")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("absent/slice", "its folder does not exist"),
        ("file/slice", "is a file, not a folder"),
        ("folder", "it is a folder"),
        ("x" * 300 + "/slice", "its name is too long"),
        ("x" * 300, "its name is too long"),
    ],
)
def test_a_place_that_cannot_be_is_named_before_anything_is_written(
    tmp_path: Path, path: str, said: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=said) as caught, open_output(str(tmp_path / path)):
        pytest.fail("the output was opened")
    assert caught.value.path == str(tmp_path / path)
    assert caught.value.exit_code is ExitCode.FAILED
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="not permitted"), open_output(str(tmp_path / "slice")):
        pytest.fail("the output was opened")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "not permitted"),
        (errno.EROFS, "not permitted"),
        (errno.ENOSPC, "no space left"),
        (errno.EDQUOT, "no space left"),
        (errno.EFBIG, "exceeds the maximum file size"),
        (errno.EMFILE, "raise the limit (ulimit -n)"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_each_error_of_the_system_says_what_to_do(number: int, said: str) -> None:
    error = output_error(OSError(number, os.strerror(number)), "out/slice")
    assert said in str(error)
    assert str(error).startswith("out/slice: ")


def test_standard_output_gets_the_bytes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_output("-") as output:
        output.write(b"\xfebin")
        output.write(memoryview(b"rest"))
    assert capfdbinary.readouterr().out == b"\xfebinrest"


def test_a_binary_is_refused_to_a_terminal_and_a_text_is_not() -> None:
    script = (
        "import sys\nfrom binx.storage.output import open_output\n"
        "with open_output('-', binary=sys.argv[1] == 'binary') as output: output.write(b'text')"
    )
    outcomes = {}
    for kind in ("binary", "text"):
        reader, terminal = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-c", script, kind], stdout=terminal, stderr=subprocess.PIPE, check=False
        )
        outcomes[kind] = done.returncode, done.stderr
        os.close(terminal)
        os.close(reader)
    assert outcomes["text"] == (0, b"")
    assert outcomes["binary"][0] == 1
    assert b"RefusedError" in outcomes["binary"][1]
    assert b"is not written to a terminal" in outcomes["binary"][1]


def test_a_reader_that_goes_away_ends_the_process_quietly() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE_A_LOT, "-", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    assert writer.stdout.read(10) == b"x" * 10
    writer.stdout.close()
    said = writer.stderr.read()
    writer.stderr.close()
    assert (writer.wait(), said) == (0, b"")


def test_a_closed_standard_output_is_an_error() -> None:
    command = f'"{sys.executable}" -c "$1" - 1 >&-'
    done = subprocess.run(["sh", "-c", command, "sh", WRITE_A_LOT], capture_output=True, check=False)
    assert b"standard output is closed" in done.stderr


def test_a_named_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", WRITE_A_LOT, str(pipe), "3"])
    assert pipe.read_bytes() == b"x" * 65536 * 3
    assert writer.wait() == 0
    assert stat.S_ISFIFO(pipe.stat().st_mode)


class Hesitant(io.RawIOBase):
    """A stream that takes three bytes at a time."""

    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: object, /) -> int:
        assert isinstance(data, memoryview)
        self.taken += bytes(data[:3])
        return min(3, len(data))


def test_a_write_is_whole_even_where_the_system_takes_it_in_steps() -> None:
    beneath = Hesitant()
    output = OutputStream(beneath, "x")
    assert output.write(b"0123456789") == 10
    assert beneath.taken == b"0123456789"
    assert output.tell() == 10


def test_text_can_be_written_through_pythons_own_layers(tmp_path: Path) -> None:
    with (
        open_output(str(tmp_path / "lines"), binary=False) as output,
        io.TextIOWrapper(io.BufferedWriter(output), encoding="utf-8", newline="\n") as text,
    ):
        text.write("ä\n")
    assert (tmp_path / "lines").read_bytes() == b"\xc3\xa4\n"


def test_a_reader_that_is_gone_is_no_failure() -> None:
    error = output_error(BrokenPipeError(errno.EPIPE, "x"), "-")
    assert isinstance(error, ReaderGoneError)
    assert error.exit_code is ExitCode.DONE


def test_what_a_killed_process_left_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    (tmp_path / ".binx-0123456789ab.tmp").write_bytes(b"half")
    (tmp_path / ".binx-other").write_bytes(b"not ours")
    with open_output(str(tmp_path / "out"), binary=False) as stream:
        stream.write(b"whole")
        remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".binx-other", "out"}
    assert (tmp_path / "out").read_bytes() == b"whole"


def written(recipients: list[str], *parts: bytes) -> tuple[bytes, AgeWriter]:
    stream = io.BytesIO()
    writer = AgeWriter(stream, recipients)
    for part in parts:
        assert writer.write(part) == len(part)
    writer.finish()
    return stream.getvalue(), writer


@pytest.mark.parametrize("size", [0, 1, 65_536, 500_000])
def test_rage_decrypts_what_is_written(size: int, tmp_path: Path) -> None:
    keys = [make_key(tmp_path, name) for name in ("first", "second")]
    content = random.Random(size).randbytes(size)
    data, _ = written([text for _, text in keys], content[:1000], content[1000:])
    for path, _ in keys:
        assert decrypted(data, path) == content


def test_age_decrypts_what_is_written(tmp_path: Path) -> None:
    path, recipient = make_key(tmp_path)
    content = random.Random(1).randbytes(300_000)
    data, _ = written([recipient], content)
    try:
        done = subprocess.run(["age", "-d", "-i", path], input=data, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("age is not installed")
    assert done.stdout == content


def test_who_wrote_a_file_can_read_it_and_no_other_file(tmp_path: Path) -> None:
    first, one = written([EXAMPLE_RECIPIENT], b"first")
    second, _ = written([EXAMPLE_RECIPIENT], b"second")
    assert everything(AgeFile(Bytes(first), one.key)) == b"first"
    with pytest.raises(EncryptedError):
        AgeFile(Bytes(second), one.key)
    with pytest.raises(EncryptedError):
        opened(first, make_key(tmp_path)[0])


def test_an_output_that_takes_no_more_is_reported_as_it_is() -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OutputError("no space left")

    writer = AgeWriter(Full(), [EXAMPLE_RECIPIENT])
    writer.write(b"x")
    with pytest.raises(OutputError, match="no space left"):
        writer.finish()


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


def test_what_cannot_be_brought_there_is_reported_and_nothing_gets_its_name(
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
