"""What texts of plain inserts consist of is told once for a table: they are what they are batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binx.slices.changes
from binx.errors import BinxError
from binx.rows.images import BatchImages
from binx.rows.parts import Part, buffers_memory
from binx.slices import pieces
from binx.slices.pieces import Changes, KeptInserts, changes_of
from tests.slices.sql.sql_of import json_of, sql_of

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
LOGS = sorted(TESTDATA.glob("*/small/*.binlog")) + sorted(TESTDATA.glob("*/shop/*.000001"))


def text_or_refusal(text_of: Callable[[Path], bytes], path: Path) -> bytes | str:
    try:
        return text_of(path)
    except BinxError as error:
        return error.message


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
@pytest.mark.parametrize("text_of", [sql_of, json_of])
def test_texts_are_the_same_whatever_batches_came_before(
    path: Path, text_of: Callable[[Path], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told_anew(kept: KeptInserts, *more: Any, **named: Any) -> list[Changes]:
        return changes_of(*more, **named)

    monkeypatch.setattr(binx.slices.changes, "PIECE_ROWS", 2)
    text = text_or_refusal(text_of, path)
    monkeypatch.setattr(KeptInserts, "changes_of", told_anew)
    assert text == text_or_refusal(text_of, path)


def test_a_table_is_told_once_however_many_batches_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    really_kept = pieces._kept_parts

    def count(images: BatchImages, parts: list[Part]) -> Any:
        told.append(images.changes.table)
        return really_kept(images, parts)

    filled: list[object] = []

    def fill(*arguments: Any) -> Any:
        filled.append(arguments)
        return buffers_memory(*arguments)

    monkeypatch.setattr(binx.slices.changes, "PIECE_ROWS", 2)
    monkeypatch.setattr(pieces, "_kept_parts", count)
    monkeypatch.setattr(pieces, "buffers_memory", fill)
    json_of(TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001")
    assert len(told) == len(set(map(id, told))) > 1
    assert len(filled) > 100
