"""Distinct table maps, numbered, with their column layouts.

Inspect single rows events: count row changes, find where images end, read the flags.
"""

from collections.abc import Callable

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

class RowCounter:
    """Counts the row changes of a transaction's rows events, after its table maps were fed.

    Args:
        of_mariadb: whether a MariaDB server wrote the events.
        widths: returns, for a table map's bytes after table ID and flags, the argument of
            :meth:`~binx.kernels.rows.layouts.TableMaps.set_widths`; None if no definition is known.
    """

    def __init__(self, of_mariadb: bool, widths: Callable[[bytes], list[int | None] | None]) -> None: ...
    def see(self, body: Buffer, id_width: int, position: int) -> None:
        """Take in a table map's body, whose table id has 4 or 6 bytes.

        Args:
            body: the event without header and checksum.
            id_width: bytes of the table id.
            position: offset in the file of the body, for messages.

        Raises:
            DamagedError, UnsupportedError: it cannot be read.
        """

    def count(self, body: Buffer, event_type: int, post_header: int, position: int) -> int:
        """The number of row changes in a rows event's body, and 0 for one without a table.

        Args:
            body: the event without header and checksum, and without MariaDB's compression.
            event_type: the event's type.
            post_header: the post-header length of the type.
            position: offset in the file of the body, for messages.

        Raises:
            DamagedError: it cannot be read.
        """

    def ends(self, body: Buffer, event_type: int, post_header: int, position: int) -> bytes:
        """Where the first row image of a rows event's body begins, and where each ends.

        Args:
            body: as above.
            event_type: the event's type.
            post_header: the post-header length of the type.
            position: offset in the file of the body, for messages.

        Returns:
            Offsets in the body, int64; empty for an event without a table.

        Raises:
            DamagedError, UnsupportedError: it cannot be read.
        """

    def whole(self, body: Buffer, event_type: int, post_header: int, position: int) -> bytes:
        """An update's body in which after images have all columns of the before images.

        A column that an after image lacks was not changed: its value is that of the before image, as with
        MariaDB's ``binlog_row_image=FULL_NODUP``.

        Args:
            body: as above; of an update, without diffs of JSON documents.
            event_type: the event's type.
            post_header: the post-header length of the type.
            position: offset in the file of the body, for messages.

        Raises:
            DamagedError, UnsupportedError: it cannot be read.
        """
