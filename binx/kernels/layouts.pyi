"""Table maps, numbered by their bytes, with the layout of each one's columns."""

class TableMaps:
    """Every distinct table map of a file, numbered; and which of them a table id means now."""

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
