"""Age files that binx writes: what others decrypt is what went in."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.export.age import AgeWriter
from binx.source.age import PIECE_BYTES, AgeFile
from binx.source.age_keys import MOST_RECIPIENTS, Recipient, parse_recipient
from tests.log.memory import Bytes
from tests.source.ages import decrypted, everything, make_key, new_identity


def written(recipients: list[Recipient], *parts: bytes) -> tuple[bytes, AgeWriter]:
    stream = io.BytesIO()
    writer = AgeWriter(stream, recipients)
    for part in parts:
        assert writer.write(part) == len(part)
    writer.finish()
    return stream.getvalue(), writer


@pytest.mark.parametrize(
    "size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 500_000]
)
def test_rage_decrypts_what_is_written(size: int, tmp_path: Path) -> None:
    keys = [make_key(tmp_path, name) for name in ("first", "second")]
    content = random.Random(size).randbytes(size)
    data, _ = written([parse_recipient(text) for _, text in keys], content)
    for path, _ in keys:
        assert decrypted(data, path) == content


def test_age_decrypts_what_is_written(tmp_path: Path) -> None:
    path, recipient = make_key(tmp_path)
    content = random.Random(1).randbytes(300_000)
    data, _ = written([parse_recipient(recipient)], content)
    try:
        done = subprocess.run(["age", "-d", "-i", path], input=data, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("age is not installed")
    assert done.stdout == content


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3 * PIECE_BYTES), max_size=6))
def test_how_it_is_written_makes_no_difference(sizes: list[int]) -> None:
    identities, recipient = new_identity()
    parts = [random.Random(size).randbytes(size) for size in sizes]
    data, writer = written([recipient], *parts)
    content = b"".join(parts)
    assert everything(AgeFile(Bytes(data), identities)) == content
    assert everything(AgeFile(Bytes(data), writer.key)) == content
    assert len(data) == len(written([recipient], content)[0])


def test_no_two_files_have_a_key_in_common() -> None:
    _, recipient = new_identity()
    (first, one), (second, other) = (written([recipient], bytes(100)) for _ in range(2))
    assert one.key != other.key
    assert first[-116:] != second[-116:]
    assert repr(one.key.key)[2:8] not in repr(one.key)


def test_a_key_by_itself_opens_only_its_own_file() -> None:
    _, recipient = new_identity()
    (first, _), (_, other) = (written([recipient], bytes(100)) for _ in range(2))
    with pytest.raises(Exception, match="the header of the age file has been changed"):
        AgeFile(Bytes(first), other.key)


def test_as_many_recipients_as_are_taken_are_read_again() -> None:
    identities, recipient = new_identity()
    data, _ = written([recipient] * MOST_RECIPIENTS, b"x")
    assert everything(AgeFile(Bytes(data), identities)) == b"x"


@pytest.mark.parametrize("count", [0, MOST_RECIPIENTS + 1])
def test_none_and_too_many_are_refused(count: int) -> None:
    _, recipient = new_identity()
    with pytest.raises(UsageError, match=f"found {count}"):
        AgeWriter(io.BytesIO(), [recipient] * count)
