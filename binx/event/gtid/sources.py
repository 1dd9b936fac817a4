"""GTID sources: MySQL's UUID and tag, MariaDB's domain ID and server ID.

Sources: MySQL manual, "GTID Format and Storage"; MariaDB knowledge base, "Global Transaction ID".
"""

from __future__ import annotations

from typing import NamedTuple

MYSQL_MAX_NUMBER = 2**63 - 2
"""The largest transaction number of MySQL (``GNO_END`` - 1)."""

MARIADB_MAX_NUMBER = 2**64 - 1
"""The largest transaction number of MariaDB."""

TAG = "[a-z_][a-z0-9_]{0,31}"
"""The syntax of a tag in lower case."""

UUID_SIZE = 16
"""Bytes of a UUID."""

_UUID_GROUPS = (slice(0, 8), slice(8, 12), slice(12, 16), slice(16, 20), slice(20, 32))

Interval = tuple[int, int]
"""First and last number, both included."""


class UuidSource(NamedTuple):
    """A source of MySQL transactions.

    Attributes:
        tag: the GTID's tag in lower case; empty if it has none.
    """

    uuid: bytes
    tag: str = ""

    def __str__(self) -> str:
        name = uuid_text(self.uuid)
        return f"{name}:{self.tag}" if self.tag else name


class DomainSource(NamedTuple):
    """A source of MariaDB transactions."""

    domain: int
    server_id: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server_id}"


GtidSource = UuidSource | DomainSource


def number_range(source: GtidSource) -> Interval:
    """Return the lowest and highest transaction number of a source."""
    if isinstance(source, UuidSource):
        return 1, MYSQL_MAX_NUMBER
    return 0, MARIADB_MAX_NUMBER


def uuid_text(uuid: bytes) -> str:
    """Format the 16 bytes of a UUID, in lower case."""
    digits = uuid.hex()
    return "-".join(digits[group] for group in _UUID_GROUPS)
