"""Statements against what clients and servers take by default."""

from __future__ import annotations

import pyarrow as pa
import pytest

from binx.kernels.render.transactions import Spelling
from binx.rows.change_groups import numbers
from binx.slices import rendering
from binx.slices.rendering import Changes, MergedChanges, Part, StatementSizes
from binx.sql.values import Spelled


@pytest.fixture(autouse=True)
def small_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "PACKET_BYTES", 10)
    monkeypatch.setattr(rendering, "LARGEST_PACKET_BYTES", 100)


def said(*lengths: int) -> list[str]:
    sizes = StatementSizes()
    for length in lengths:
        places = numbers(pa.array([0, 1], pa.int64()))
        texts = Spelled(Spelling.SPELL_TEXT, pa.array([b"x" * length, b"x"], pa.large_binary()))
        changes = Changes(places, places, None, 2, [Part(b"", texts)])
        piece = MergedChanges([changes])
        assert len(b"".join(piece.text(0, 2))) == length + 1
        sizes.take(piece.long_texts, piece.longest)
    return sizes.warnings


def test_what_fits_is_not_reported() -> None:
    assert said(1, 10) == []


def test_the_size_that_is_needed_is_reported() -> None:
    (warning,) = said(11, 99, 12)
    assert warning.startswith("3 statements are longer than the 10 bytes")
    assert "--max-allowed-packet=99," in warning
    assert said(11)[0].startswith("1 statement is longer")


def test_statements_that_are_in_the_log_as_text_are_measured_in_bytes() -> None:
    sizes = StatementSizes()
    for sql in ("SELECT 1", "日本語のメモ", "ééééé"):
        sizes.take_text(sql)
    (warning,) = sizes.warnings
    assert warning.startswith("1 statement is longer than the 10 bytes")
    assert "--max-allowed-packet=18," in warning


def test_what_no_server_takes_is_reported() -> None:
    assert "no server accepts that, so use --format binlog" in said(101)[0]
