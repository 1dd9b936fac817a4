"""Tables of all types that a data set has, and files of them."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from binx.dataset.encoding import writer_settings

UTC = dt.UTC
_MICROSECONDS = st.integers(-(2**53), 2**53)
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_FLOAT = st.floats(width=32, allow_nan=False)
_ALIKE = st.sampled_from(["", "paid", "shipped to the neighbours", "ü"])

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "int16": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "uint16": (pa.uint16(), st.integers(0, 2**16 - 1)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int64(), st.integers(0, 3)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "float64": (pa.float64(), st.floats(allow_nan=False)),
    "money": (pa.decimal128(9, 2), st.decimals(-9999999, 9999999, places=2)),
    "sum": (pa.decimal128(18, 4), st.decimals(-(10**13), 10**13, places=4)),
    "huge": (pa.decimal128(38, 10), st.decimals(-(10**27), 10**27, places=10)),
    "date": (pa.date32(), st.dates()),
    "local": (pa.timestamp("us"), st.datetimes()),
    "moment": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    "span": (pa.duration("us"), _MICROSECONDS.map(lambda us: dt.timedelta(microseconds=us))),
    "text": (pa.string(), _TEXT),
    "alike": (pa.string(), _ALIKE),
    "bytes": (pa.binary(), st.binary(max_size=20)),
    "word8": (pa.dictionary(pa.int8(), pa.string()), _ALIKE),
    "word32": (pa.dictionary(pa.int32(), pa.string()), _TEXT),
    "point": (
        pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())]),
        st.fixed_dictionaries(
            {"srid": st.integers(0, 2**32 - 1) | st.none(), "wkb": st.none() | st.binary(max_size=9)}
        ),
    ),
    "vector": (
        pa.list_(pa.float32()),
        st.lists(_FLOAT | st.none(), max_size=5),
    ),
    "notes": (
        pa.map_(pa.string(), pa.string()),
        st.dictionaries(_TEXT, _TEXT | st.none(), max_size=3).map(lambda found: list(found.items())),
    ),
    "tables": (
        pa.list_(pa.struct([("db", pa.dictionary(pa.int32(), pa.string())), ("rows", pa.int64())])),
        st.lists(
            st.fixed_dictionaries({"db": _ALIKE | st.none(), "rows": st.integers(0, 9) | st.none()})
            | st.none(),
            max_size=4,
        ),
    ),
}
"""Each type with its values."""

SCHEMA = pa.schema([(name, data_type) for name, (data_type, _) in TYPES.items()])


@st.composite
def batches(draw: st.DrawFn, names: tuple[str, ...], rows: int = 30) -> pa.RecordBatch:
    """A batch of these columns: few distinct rows that are repeated, and nulls in some."""
    count = draw(st.integers(1, rows))
    arrays = []
    for name in names:
        data_type, values = TYPES[name]
        kept = draw(st.sampled_from([values, values | st.none(), st.none(), draw(values.map(st.just))]))
        column = draw(st.lists(kept, min_size=count, max_size=count))
        arrays.append(array(column, data_type))
    start = draw(st.integers(0, count - 1))
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(name, TYPES[name][0]) for name in names]))
    return batch.slice(start)


def array(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """An array; Arrow makes no dictionaries of values within structs by itself."""
    if pa.types.is_dictionary(data_type):
        return _words(values, data_type)
    if data_type == TYPES["tables"][0]:
        rows = [row for row in values if row is not None]
        elements = [element for row in rows for element in row]
        members = data_type.value_type
        present = [element if element is not None else {"db": None, "rows": None} for element in elements]
        struct = pa.StructArray.from_arrays(
            [
                _words([element["db"] for element in present], members.field("db").type),
                pa.array([element["rows"] for element in present], pa.int64()),
            ],
            fields=list(members),
            mask=pa.array([element is None for element in elements], pa.bool_()),
        )
        offsets = [0]
        for row in values:
            offsets.append(offsets[-1] + len(row or ()))
        mask = pa.array([row is None for row in values], pa.bool_())
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct, data_type, mask=mask)
    return pa.array(values, data_type)


def _words(values: list[Any], data_type: pa.DataType) -> pa.Array:
    words = list(dict.fromkeys(value for value in values if value is not None))
    numbers = {word: number for number, word in enumerate(words)}
    places = pa.array([None if value is None else numbers[value] for value in values], data_type.index_type)
    return pa.DictionaryArray.from_arrays(places, pa.array(words, pa.string()))


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """The rows, as Python has them."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def many_rows(count: int, seed: int) -> pa.RecordBatch:
    """So many rows of all types, made without hypothesis, which would take long."""
    chance = random.Random(seed)

    def some(make: Any) -> list[Any]:
        return [None if chance.random() < 0.1 else make(number) for number in range(count)]

    start = dt.datetime(2026, 1, 1)
    makers: dict[str, Any] = {
        "bool": lambda _: chance.random() < 0.5,
        "int8": lambda _: chance.randrange(-128, 128),
        "int16": lambda n: n % 30_000,
        "uint16": lambda n: n % 65_536,
        "int32": lambda _: chance.randrange(-(2**31), 2**31),
        "int64": lambda n: n * 1000 + chance.randrange(1000),
        "small": lambda n: n // 50,
        "uint64": lambda n: 2**64 - 1 - n,
        "float32": lambda n: n / 4,
        "float64": lambda _: chance.random(),
        "money": lambda n: Decimal(n) / 100,
        "sum": lambda n: Decimal(-n) * 10_000_000 / 10_000,
        "huge": lambda n: Decimal(n - 50) * 10**20,
        "date": lambda n: (start + dt.timedelta(n % 9000)).date(),
        "local": lambda n: start + dt.timedelta(seconds=n),
        "moment": lambda n: (start + dt.timedelta(microseconds=n)).replace(tzinfo=UTC),
        "span": lambda n: dt.timedelta(microseconds=n - 3),
        "text": lambda n: f"row {n}, " + "x" * chance.randrange(30),
        "alike": lambda _: chance.choice(["new", "paid", "sent"]),
        "bytes": lambda _: chance.randbytes(12),
        "word8": lambda n: f"state {n % 5}",
        "word32": lambda n: f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{n // 2}",
        "point": lambda n: {"srid": 4326, "wkb": n.to_bytes(9, "little")},
        "vector": lambda n: [float(n), 0.5, None][: n % 4],
        "notes": lambda n: [(f"column {n % 3}", f"0000-00-{n % 30}")][: n % 2],
        "tables": lambda n: [{"db": f"db{one}", "rows": n} for one in range(n % 3)],
    }
    return pa.RecordBatch.from_arrays(
        [array(some(makers[name]), data_type) for name, (data_type, _) in TYPES.items()], schema=SCHEMA
    )


def write(path: Path, *batches: pa.RecordBatch) -> Path:
    """Write a file of these row groups."""
    path.write_bytes(written(*batches))
    return path


def written(*batches: pa.RecordBatch) -> bytes:
    """A file's bytes."""
    stream = io.BytesIO()
    first = pa.Table.from_batches(batches[:1])
    with pq.ParquetWriter(
        stream,
        first.schema,
        **writer_settings(first.schema, first),
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return stream.getvalue()


def opened(data: bytes) -> pq.ParquetFile:
    """The file that these bytes are."""
    return pq.ParquetFile(io.BytesIO(data))


def sha256(path: Path) -> str:
    """Of a file's bytes, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
