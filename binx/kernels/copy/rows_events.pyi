"""Inspect single rows events: count row changes, find where images end, read the flags."""

from collections.abc import Callable

from typing_extensions import Buffer

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
