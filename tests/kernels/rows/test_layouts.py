"""Table maps: which columns have a width that can be read, against MySQL's table_def::calc_field_size."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.kernels.rows.layouts import unknown_column

STRING, ENUM, SET = 254, 247, 248


def body(kind: int, *metadata: int) -> bytes:
    """A table map's body of ``shop.t`` with one column, behind table id and flags."""
    return b"\x04shop\0\x01t\0" + bytes([1, kind, len(metadata), *metadata]) + b"\0"


@pytest.mark.parametrize("column", [(STRING, ENUM, 1), (STRING, ENUM, 2), (STRING, SET, 8), (ENUM, ENUM, 2)])
def test_members_have_the_bytes_that_servers_give_them(column: tuple[int, ...]) -> None:
    assert unknown_column(body(*column)) is None


@pytest.mark.parametrize(
    "column",
    [(STRING, ENUM, 0), (STRING, ENUM, 3), (STRING, SET, 9), (ENUM, ENUM, 3), (ENUM, ENUM, 8), (SET, SET, 0)],
)
def test_other_widths_of_members_are_damage(column: tuple[int, ...]) -> None:
    with pytest.raises(DamagedError, match="expected an ENUM of 1 or 2 or a SET of 1 to 8 bytes"):
        unknown_column(body(*column))
