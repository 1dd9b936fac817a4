"""Which server statements are for."""

from __future__ import annotations

from dataclasses import dataclass

from binx.event.format import Flavour, FormatDescription

_EXACT_COLLATIONS = {
    Flavour.MYSQL: ((8, 0, 17), "utf8mb4_0900_bin"),
    Flavour.MARIADB: ((10, 2, 2), "utf8mb4_nopad_bin"),
}
"""First version with a collation that distinguishes all characters and trailing spaces, by flavour."""

_PADDING_COLLATION = "utf8mb4_bin"


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The server that the statements are for.

    Attributes:
        version: version of the server that wrote the log; the server that runs the SQL should not be older.
    """

    flavour: Flavour
    version: tuple[int, int, int]

    @classmethod
    def of(cls, description: FormatDescription) -> SqlDialect:
        """Return the dialect of the server that wrote a file."""
        return cls(description.flavour, description.version)

    @property
    def exact_collation(self) -> str:
        """A utf8mb4 collation that distinguishes all texts, as far as the version has one."""
        since, name = _EXACT_COLLATIONS[self.flavour]
        return name if self.version >= since else _PADDING_COLLATION
