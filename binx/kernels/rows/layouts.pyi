"""Table maps, numbered by their bytes, with the layout of each one's columns."""

from binx.errors import UndecodableError

def unknown_column(body: bytes) -> tuple[int, int] | None:
    """Number from 1 and type of a table map's first column of a type of which no width is known.

    None where there is none.

    Args:
        body: all that follows the table id and the flags.

    Raises:
        DamagedError, UnsupportedError: it cannot be read otherwise.
    """

class TableMaps:
    """Every distinct table map of a file, numbered; and which of them a table id means now."""

    def refusal(self, number: int, position: int) -> UndecodableError:
        """The error about the rows of a table of which nothing tells the size of a column's values."""

    def set_widths(self, number: int, widths: list[int | None]) -> None:
        """Say what a definition tells of the columns of a table map that MariaDB does not log.

        Args:
            number: the table map's.
            widths: for each column the bytes of a value, None where the table map tells them. It does of all
                but TIME, DATETIME and TIMESTAMP as before MariaDB 10.1.
        """

    def unknown(self, number: int) -> tuple[int, int] | None:
        """Number from 1 and type of the first column of a type of which no width is known; else None."""

    @property
    def count(self) -> int:
        """How many distinct table maps were seen."""

    def body(self, number: int) -> bytes:
        """A numbered table map's bytes behind table id and flags."""

    def columns(self, number: int) -> list[tuple[int, int, int, int]]:
        """Each column's type, metadata, bytes of the length prefix (0: fixed width) and width."""

    def table_of(self, number: int) -> int:
        """The number of the table (database and name) that a table map is about."""

    def name(self, table: int) -> tuple[bytes, bytes]:
        """A table's database and name, as logged."""

    @property
    def tables(self) -> int:
        """How many distinct tables (database and name) were seen."""
