"""The values of keys as bytes, the same for one value of Python's as for a column of Arrow's.

Numbers are decimal digits, times ISO 8601 with a space and six digits of a second, with ``Z`` where they are
moments, text is UTF-8. What has no text that is the same both ways, as floating-point numbers, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def key_text(value: object) -> bytes | None:
    """One value's bytes; None where there is no text for it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, Decimal):
        return f"{value:f}".encode() if value.is_finite() else None
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else "Z"
        plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return f"{plain.isoformat(' ', 'microseconds')}{zone}".encode()
    if isinstance(value, date):
        return value.isoformat().encode()
    return None


def key_texts(values: Sequence[object]) -> list[bytes] | None:
    """The bytes of a key's columns; None where one has no text."""
    texts = []
    for value in values:
        text = key_text(value)
        if text is None:
            return None
        texts.append(text)
    return texts


def column_texts(column: pa.Array) -> pa.Array | None:
    """A column's values as a binary column; None where its type has no text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_binary(kind):
        return column
    if pa.types.is_string(kind):
        return column.cast(pa.binary())
    known = (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_decimal128(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in (None, "UTC"))
    )
    return pc.cast(column, pa.string()).cast(pa.binary()) if known else None


__all__ = ["column_texts", "key_text", "key_texts"]
