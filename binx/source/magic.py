"""Detect file types by their first bytes."""

from __future__ import annotations

from binx.errors import NotABinlogError
from binx.source.foreign import describe

MAGIC = b"\xfebin"
"""The first bytes of a binary log or relay log."""

ENCRYPTED_MAGIC = b"\xfdbin"
"""The first bytes of a binary log that MySQL 8.0.14 or later encrypted."""

GZIP_MAGIC = b"\x1f\x8b"
"""RFC 1952, section 2.3.1."""

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""RFC 8878, section 3.1.1."""

AGE_MAGIC = b"age-"
"""The first bytes of an age file's version line (C2SP's ``age.md``)."""

_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"
"""The first bytes of an ASCII-armored age file."""

_SKIPPABLE = b"\x2a\x4d\x18"
_SKIPPABLE_FIRST = range(0x50, 0x60)


def is_gzip(data: memoryview | bytes) -> bool:
    """Whether the data begins with a gzip member."""
    return bytes(data[:2]) == GZIP_MAGIC


def is_age(data: memoryview | bytes) -> bool:
    """Whether the data begins with an age file."""
    return bytes(data[: len(AGE_MAGIC)]) == AGE_MAGIC


def is_armored(data: memoryview | bytes) -> bool:
    """Whether the data begins with an ASCII-armored age file."""
    return bytes(data[: len(_ARMOR)]) == _ARMOR


def is_skippable(data: memoryview | bytes) -> bool:
    """Whether the data begins with a skippable zstd frame (RFC 8878, section 3.1.2)."""
    return len(data) >= len(ZSTD_MAGIC) and data[0] in _SKIPPABLE_FIRST and bytes(data[1:4]) == _SKIPPABLE


def is_zstd(data: memoryview | bytes) -> bool:
    """Whether the data begins with a zstd frame, possibly a skippable one."""
    return bytes(data[:4]) == ZSTD_MAGIC or is_skippable(data)


def check_inside(data: bytes, path: str, kind: str) -> None:
    """Check that a compressed file contains a binary log, before decompressing more of it.

    Args:
        data: its first bytes decompressed, :data:`binx.source.foreign.HEAD_SIZE` of them if there are.

    Raises:
        NotABinlogError: it contains something else.
    """
    if data[: len(MAGIC)] not in (MAGIC, ENCRYPTED_MAGIC):
        known = describe(data)
        found = data[: len(MAGIC)].hex(" ") or "nothing"
        raise NotABinlogError(
            f"expected a binary log inside the {kind} file, "
            + (f"found {known}" if known else f"which begins with {MAGIC.hex(' ')}, found {found}"),
            path=path,
            offset=0,
        )
