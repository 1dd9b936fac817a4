"""Distinct table maps, numbered, with their column layouts."""

from typing_extensions import Buffer

from binx.errors import UndecodableError

def unknown_column(body: Buffer) -> tuple[int, int] | None:
    """Return number (from 1) and type of a table map's first column of unknown width; None if there is none.

    Args:
        body: the event's bytes after table ID and flags.

    Raises:
        DamagedError, UndecodableError: it cannot be parsed for other reasons.
    """

class TableMaps:
    """The distinct table maps of a file, numbered from 0, and the current one of each table ID.

    Table maps are the same if everything after table ID and flags is equal. Methods raise IndexError for a
    number that no table map or table has.
    """

    @property
    def count(self) -> int:
        """Number of distinct table maps seen."""

    @property
    def tables(self) -> int:
        """Number of distinct tables (database and name) seen."""

    def body(self, number: int) -> bytes:
        """Return a table map's bytes after table ID and flags."""

    def columns(self, number: int) -> list[tuple[int, int, int, int]]:
        """Return each column's type, metadata, bytes of the length prefix (0: fixed width), and width."""

    def table_of(self, number: int) -> int:
        """Return the number of a table map's table."""

    def name(self, table: int) -> tuple[bytes, bytes]:
        """Return a table's database and name, as logged."""

    def unknown(self, number: int) -> tuple[int, int] | None:
        """Return the number (from 1) and type of the first column of unknown width; None if there is none."""

    def set_widths(self, number: int, widths: list[int | None]) -> None:
        """Set column widths that MariaDB does not log, from the table's definition.

        Args:
            number: the table map.
            widths: each column's bytes per value; None if the table map gives them, as for all types except
                TIME, DATETIME and TIMESTAMP in the format before MariaDB 10.1.
        """

    def set_computed(self, number: int, computed: list[bool]) -> None:
        """Set which columns are generated, from the table's definition; row images may lack these."""

    def refusal(self, number: int, position: int) -> UndecodableError:
        """Return the error for the rows of a table with a column of unknown width, for the caller to raise.

        Args:
            number: the table map.
            position: offset in the file, for the message.
        """
