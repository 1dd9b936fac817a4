"""Sources: what can be opened, what cannot, and what a window shows."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from binx.errors import NotABinlogError, SourceError
from binx.source import PlainFile, open_source, spool
from binx.source.plain import Buffers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000007"
    path.write_bytes(bytes(range(256)) * 64)
    return path


def test_a_file_is_known_by_its_path_and_its_own_name(file: Path) -> None:
    source = open_source(str(file))
    assert (source.path, source.name, source.size) == (str(file), "mysql-bin.000007", 16384)
    source.close()


def test_a_window_shows_the_bytes_of_its_span_and_ends_with_the_file(file: Path) -> None:
    source = open_source(str(file))
    assert bytes(source.window(255, 258)) == b"\xff\x00\x01"
    assert bytes(source.window(16380, 99999)) == bytes([252, 253, 254, 255])
    assert source.window(0, 4).readonly
    source.close()


def test_released_pages_can_be_looked_at_again(file: Path) -> None:
    source = open_source(str(file))
    before = bytes(source.window(0, source.size))
    source.release(0, source.size)
    source.release(1, 2)
    assert bytes(source.window(0, source.size)) == before
    source.close()


def test_a_file_that_grows_shows_what_it_held_when_it_was_opened(file: Path) -> None:
    source = open_source(str(file))
    with file.open("ab") as more:
        more.write(b"more")
    assert source.size == 16384
    assert len(source.window(0, 99999)) == 16384
    source.close()


def test_closing_leaves_a_window_that_is_still_held_readable(file: Path) -> None:
    source = open_source(str(file))
    window = source.window(0, 4)
    source.close()
    assert bytes(window) == b"\x00\x01\x02\x03"


def test_an_absent_file_is_named_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent: cannot be opened: No such file or directory"):
        open_source(str(tmp_path / "absent"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="found a folder or a device"):
        open_source(str(tmp_path))


def test_an_empty_file_is_no_binary_log(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(NotABinlogError, match="empty file"):
        open_source(str(tmp_path / "empty"))


def test_a_stream_is_spooled_whole_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = spool(io.BytesIO(b"some bytes" * 1000))
    assert (source.path, source.name, source.size) == ("-", "stdin", 10000)
    assert bytes(source.window(9995, 10000)) == b"bytes"
    assert list(tmp_path.iterdir()) == []
    source.close()


def test_an_empty_stream_is_no_binary_log() -> None:
    with pytest.raises(NotABinlogError):
        spool(io.BytesIO())


def test_a_stream_that_fails_says_so() -> None:
    class Broken(io.RawIOBase):
        def readinto(self, buffer: object) -> int:
            raise OSError(5, "Input/output error")

        def readable(self) -> bool:
            return True

    with pytest.raises(SourceError, match="Input/output error"):
        spool(io.BufferedReader(Broken()))


def test_a_device_is_refused_before_anything_is_read() -> None:
    with pytest.raises(SourceError, match="device"):
        PlainFile.open(os.devnull)


def test_a_name_that_is_no_utf_8_is_escaped(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/mysql-bin-\xff.000001")
    Path(path).write_bytes(b"x")
    source = open_source(path)
    assert source.name == r"mysql-bin-\xff.000001"
    source.close()


def test_a_window_stays_as_it_is_while_others_are_read(file: Path) -> None:
    source = open_source(str(file))
    held = [source.window(start, start + 256) for start in range(0, 16384, 256)]
    assert b"".join(held) == file.read_bytes()
    source.close()


def test_memory_is_used_again_when_a_window_was_given_up() -> None:
    buffers = Buffers(16)
    first = buffers.take(8)
    part = first[2:4]
    other = buffers.take(8)
    assert other.obj is not first.obj
    memory = first.obj
    del first
    assert buffers.take(16).obj is not memory, "a part of it is still looked at"
    del part
    assert buffers.take(16).obj is memory


def test_more_than_a_buffer_gets_memory_of_its_own() -> None:
    assert len(Buffers(16).take(17)) == 17


def test_a_file_that_shrinks_while_it_is_read_is_an_error_with_its_place(file: Path) -> None:
    source = open_source(str(file))
    with file.open("r+b") as cut:
        cut.truncate(100)
    with pytest.raises(
        SourceError, match="shrank while it was read: expected 16384 bytes, found 100"
    ) as caught:
        source.window(50, 200)
    assert (caught.value.path, caught.value.offset) == (str(file), 100)
    source.close()


def test_a_file_that_vanishes_while_it_is_read_is_read_to_its_end(file: Path) -> None:
    expected = file.read_bytes()
    source = open_source(str(file))
    file.unlink()
    assert bytes(source.window(0, source.size)) == expected
    source.close()


def test_an_input_error_is_told_with_its_place(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, buffers: object, offset: int) -> int:
        raise OSError(5, "Input/output error")

    source = open_source(str(file))
    monkeypatch.setattr("os.preadv", fail)
    with pytest.raises(SourceError, match=r"offset 7: cannot be read: Input/output error"):
        source.window(7, 9)
    source.close()


def test_a_fifo_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match="found a pipe"):
        open_source(str(tmp_path / "fifo"))
