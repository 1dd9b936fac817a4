"""Kernels and parsers, in languages of their own, state the same codes of event and column types."""

from __future__ import annotations

import re
from pathlib import Path

import binx
from binx.event.column import ColumnType
from binx.event.header import EventType

_KERNELS = Path(binx.__file__).parent / "kernels"


def kernel_codes(module: str, pattern: str) -> dict[str, int]:
    """Names and values of the constants in a kernel's declarations whose names match a pattern."""
    found = re.findall(rf"^ +({pattern}) = (\d+)$", (_KERNELS / module).read_text("utf-8"), re.MULTILINE)
    return {name: int(value) for name, value in found}


def test_kernels_number_event_types_as_parsers_do() -> None:
    codes = kernel_codes("walk/events.pxd", r"\w+_EVENT(?:_V\d)?")
    assert len(codes) > 50
    for name, value in codes.items():
        plain = name.replace("_EVENT", "")
        before_release = plain.removeprefix("PRE_GA_")
        assert EventType(value).name == (plain if plain == before_release else f"{before_release}_V0")


def test_kernels_number_column_types_as_parsers_do() -> None:
    codes = kernel_codes("rows/layouts.pxd", r"TYPE_\w+")
    assert len(codes) > 30
    for name, value in codes.items():
        assert ColumnType(value).name.removeprefix("MARIADB_") == name.removeprefix("TYPE_")
