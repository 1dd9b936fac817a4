"""Thrift's compact protocol, as far as Parquet's footers and page headers need it.

Source: Apache Thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterable

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
_SHORT_LIST = 15

STOP = b"\0"
"""What ends a struct; alone it is an empty one."""


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """A number of at most 64 bits, with its sign as the lowest bit."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


class Struct:
    """A struct, field by field in the order of their numbers; None leaves a field out.

    Args:
        begun: its first fields, from :meth:`so_far`.
        last: the number of the last of them.
    """

    def __init__(self, begun: bytes | bytearray = b"", last: int = 0) -> None:
        self._out = bytearray(begun)
        self._last = last

    def _field(self, number: int, kind: int) -> None:
        self._out.append((number - self._last) << 4 | kind)
        self._last = number

    def flag(self, number: int, value: bool | None) -> Struct:
        """A truth value."""
        if value is not None:
            self._field(number, _TRUE if value else _FALSE)
        return self

    def byte(self, number: int, value: int) -> Struct:
        """A number of 8 bits."""
        self._field(number, _BYTE)
        self._out.append(value)
        return self

    def i32(self, number: int, value: int | None) -> Struct:
        """A number of 32 bits."""
        return self._number(number, _I32, value)

    def i64(self, number: int, value: int | None) -> Struct:
        """A number of 64 bits."""
        return self._number(number, _I64, value)

    def binary(self, number: int, value: bytes | None) -> Struct:
        """Bytes."""
        if value is not None:
            self._field(number, _BINARY)
            self._out += varint(len(value)) + value
        return self

    def struct(self, number: int, value: bytes | None) -> Struct:
        """A struct that is written already."""
        if value is not None:
            self._field(number, _STRUCT)
            self._out += value
        return self

    def structs(self, number: int, values: Iterable[bytes] | None) -> Struct:
        """A list of structs that are written already."""
        return self._list(number, _STRUCT, None if values is None else list(values))

    def numbers(self, number: int, values: Iterable[int]) -> Struct:
        """A list of numbers of 32 bits."""
        return self._list(number, _I32, [zigzag(value) for value in values])

    def texts(self, number: int, values: Iterable[str]) -> Struct:
        """A list of texts."""
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        return self._list(number, _BINARY, [varint(len(value)) + value for value in encoded])

    def so_far(self) -> bytes:
        """The fields' bytes."""
        return bytes(self._out)

    def end(self) -> bytes:
        """The struct's bytes."""
        self._out += STOP
        return bytes(self._out)

    def _number(self, number: int, kind: int, value: int | None) -> Struct:
        if value is not None:
            self._field(number, kind)
            self._out += zigzag(value)
        return self

    def _list(self, number: int, kind: int, values: list[bytes] | None) -> Struct:
        if values is not None:
            self._field(number, _LIST)
            if len(values) < _SHORT_LIST:
                self._out.append(len(values) << 4 | kind)
            else:
                self._out.append(_SHORT_LIST << 4 | kind)
                self._out += varint(len(values))
            self._out += b"".join(values)
        return self
