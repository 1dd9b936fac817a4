"""Age files that binx writes: what others decrypt is what went in."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path

import pytest

from binx.errors import EncryptedError, OutputError
from binx.source.age import AgeFile
from binx.storage.age import AgeWriter
from tests.log.memory import Bytes
from tests.source.ages import EXAMPLE_RECIPIENT, decrypted, everything, make_key, opened


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


def test_an_output_that_takes_no_more_is_told_as_it_is() -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OutputError("no space left")

    writer = AgeWriter(Full(), [EXAMPLE_RECIPIENT])
    writer.write(b"x")
    with pytest.raises(OutputError, match="no space left"):
        writer.finish()
