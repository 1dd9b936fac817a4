"""Usual transactions event by event for people: all that stands around their row changes."""

from collections.abc import Callable

from typing_extensions import Buffer

from binx.kernels.transactions import TransactionTable

class ShownTexts:
    """Writes what stands around the row changes of transactions.

    Args:
        zone: gives for seconds since 1970 the offset in seconds and its suffix; None for UTC.
        zone_name: what the zone is called.
    """

    def __init__(self, zone: Callable[[int], tuple[int, bytes]] | None, zone_name: bytes) -> None: ...
    def begin_file(
        self,
        file: bytes,
        checksum_size: int,
        post_header: Buffer,
        identify: Callable[[int], bytes],
        say: Callable[[bytes, int, bool], tuple[bytes, int]],
    ) -> None:
        """Go on with the transactions of another format description.

        Args:
            file: the log's name as it is shown.
            checksum_size: bytes of a checksum.
            post_header: the post-header length of each type.
            identify: gives for a start the id of a transaction without GTID.
            say: gives for an event, its position, and whether it is said without what differs from one to the
                next, the text behind its place; and how much of this stands before the number of a MariaDB
                group commit.
        """

    def render(
        self,
        table: TransactionTable,
        taken: Buffer,
        first: int,
        count: int,
        window: Buffer,
        origin: int,
        begun: bool,
    ) -> tuple[int, bytes, bytes, bytes]:
        """The texts around the row changes of some transactions, up to one that is not usual.

        A usual one changes rows, is not compressed, and can be read; the window holds all of it.

        Args:
            table: the records.
            taken: the indexes of the transactions that are wanted, int64.
            first: the place there of the first of these.
            count: how many, at most.
            window: a part of the log.
            origin: its first byte's offset in the log.
            begun: whether transactions stand before these.

        Returns:
            How many; where each text ends, int64; the texts; and for each the position of the rows event
            whose changes stand behind it, -1 for the last of a transaction, int64.

        Raises:
            ValueError: an index is not one of the table's.
        """
