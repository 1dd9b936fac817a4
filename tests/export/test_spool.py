"""What a spool takes it gives back, from memory and from a file alike."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from binx.export.spool import Spool

PARTS = [b"", b"some", bytes(range(256)) * 40, b"", b"more", b"x" * 3_000_000, b"end"]


@pytest.mark.parametrize("limit", [0, 3, 4, 5_000, 10_244, 10_248, 1 << 30])
def test_all_that_was_taken_is_given_back(limit: int) -> None:
    with Spool(limit) as spool:
        for number, part in enumerate(PARTS):
            assert spool.size == sum(map(len, PARTS[:number]))
            spool.write(part)
        assert spool.size == sum(map(len, PARTS))
        assert b"".join(spool.pieces()) == b"".join(PARTS)


def test_where_a_file_is_needed_and_cannot_be_made_the_error_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with Spool(4) as spool:
        spool.write(b"four")
        with pytest.raises(FileNotFoundError):
            spool.write(b"+")


def test_no_file_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spool(0) as spool:
        spool.write(b"bytes")
        assert list(tmp_path.iterdir()) == []
        assert list(spool.pieces()) == [b"bytes"]
