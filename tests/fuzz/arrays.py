"""Columns of every type that data sets have, made of any bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.export.parquet_format.tables import TYPES, array

_MOST_ROWS = 3_000
_RUNS = 200


class Bits:
    """Bytes that are taken one after another; behind their end all are 0."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def left(self) -> int:
        """How many are left."""
        return len(self._data) - self._position

    def take(self, count: int) -> bytes:
        """The next bytes."""
        taken = self._data[self._position : self._position + count]
        self._position += len(taken)
        return taken.ljust(count, b"\0")

    def number(self, size: int, *, signed: bool = True) -> int:
        """A number of so many bytes."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def below(self, limit: int) -> int:
        """A number that is less."""
        return self.number(1 if limit <= 256 else 2, signed=False) % limit

    def text(self) -> str:
        """A short text."""
        return self.take(self.below(40)).decode("latin-1")


def _decimal(digits: int, scale: int) -> Callable[[Bits], Decimal]:
    def make(bits: Bits) -> Decimal:
        limit = 10**digits
        return Decimal(f"{bits.number(16) % (2 * limit - 1) - (limit - 1)}e-{scale}")

    return make


def _real(size: int, code: str) -> Callable[[Bits], float]:
    def make(bits: Bits) -> float:
        (found,) = struct.unpack("<" + code, bits.take(size))
        return float(found)

    return make


def _list_of(make: Callable[[Bits], Any]) -> Callable[[Bits], list[Any]]:
    def made(bits: Bits) -> list[Any]:
        return [None if bits.below(8) == 0 else make(bits) for _ in range(bits.below(6))]

    return made


def _integer(size: int, *, signed: bool = True) -> Callable[[Bits], int]:
    return lambda bits: bits.number(size, signed=signed)


MAKERS: dict[str, Callable[[Bits], Any]] = {
    "bool": lambda bits: bits.below(2) == 1,
    "int8": _integer(1),
    "int16": _integer(2),
    "uint16": _integer(2, signed=False),
    "int32": _integer(4),
    "int64": _integer(8),
    "small": lambda bits: bits.below(4),
    "uint64": _integer(8, signed=False),
    "float32": _real(4, "f"),
    "float64": _real(8, "d"),
    "money": _decimal(9, 2),
    "sum": _decimal(18, 4),
    "huge": _decimal(38, 10),
    "date": lambda bits: bits.number(3) % 3_000_000 - 700_000,
    "local": lambda bits: bits.number(7) // 2,
    "moment": lambda bits: bits.number(7) // 2,
    "span": lambda bits: bits.number(7) // 2,
    "text": Bits.text,
    "alike": lambda bits: ("", "paid", "shipped to the neighbours", "\u00fc")[bits.below(4)],
    "bytes": lambda bits: bits.take(bits.below(30)),
    "word8": lambda bits: "word" * bits.below(100),
    "word32": Bits.text,
    "point": lambda bits: {"srid": bits.number(4, signed=False), "wkb": bits.take(bits.below(9))},
    "vector": _list_of(_real(4, "f")),
    "notes": lambda bits: [(bits.text(), bits.text()) for _ in range(bits.below(4))],
    "tables": _list_of(lambda bits: {"db": bits.text(), "rows": bits.number(8)}),
}
"""How a value of each type of :data:`~tests.export.parquet_format.tables.TYPES` is made."""


def batch_of(data: bytes) -> pa.RecordBatch:
    """A batch of one to four columns: values as the bytes say, in runs, with nulls; cut at its beginning."""
    bits = Bits(data)
    names = list(dict.fromkeys(list(MAKERS)[bits.below(len(MAKERS))] for _ in range(1 + bits.below(4))))
    rows = 1 + bits.below(_MOST_ROWS)
    arrays = [_column(name, rows, bits) for name in names]
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(name, TYPES[name][0]) for name in names]))
    return batch.slice(bits.below(rows))


def _column(name: str, rows: int, bits: Bits) -> pa.Array:
    make = MAKERS[name]
    values: list[Any] = []
    nulls, step = bits.below(4), bits.below(4)
    while len(values) < rows:
        if not bits.left:
            # What is left repeats what there is, so that few bytes make many rows.
            values.extend((values or [None])[: rows - len(values)])
            continue
        value = None if nulls and bits.below(4) < nulls else make(bits)
        values.extend([value] * min(rows - len(values), 1 + (bits.below(_RUNS) if step == 0 else 0)))
    return array(values, TYPES[name][0])
