"""The columns of the transaction index, made of the records of one table of transactions after another."""

from collections.abc import Mapping

from binx.kernels.memory import Memory
from binx.kernels.transactions import TransactionTable

class IndexColumns:
    """The columns of transactions that are added, some at a time."""

    def __len__(self) -> int:
        """How many transactions were added."""

    def add(
        self,
        table: TransactionTable,
        mask: bytearray | None,
        ids: tuple[bytes, bytes],
        base: int,
        first_seqno: int,
        epoch: int,
    ) -> None:
        """Add transactions.

        Args:
            table: where they are.
            mask: a mark for each of the table's, 0 for those that are left out; None: all are added.
            ids: the ids of all of the table's, as :func:`~binx.log.identifiers.transaction_ids` gives them.
            base: what is added to a transaction's start to make its commit version.
            first_seqno: the number of the table's first transaction; the others count on.
            epoch: that of all of them.

        Raises:
            ValueError: mask or ids are not of this table.
        """

    def tables(self, known: int) -> list[int]:
        """The numbers of the tables that the transactions did something to, in the order of their first use.

        Args:
            known: how many tables there are.

        Raises:
            IndexError: a table number is beyond those.
        """

    def finish(
        self, databases: list[int], names: list[int]
    ) -> tuple[
        Mapping[str, tuple[bytes | None, int, Memory | bytes]],
        tuple[Memory, Memory],
        tuple[bytes, bytes, Memory, Memory, Memory],
    ]:
        """Hand the columns over, and start anew.

        Args:
            databases: by table number, the number that its database goes by.
            names: by table number, the number that its name goes by.

        Returns:
            By the column's name what its Arrow array is made of: validity bits (None where nothing is null),
            the number of nulls, the values. ``kind``, ``how`` and ``commit_time_source`` are numbers of one
            byte, ``epoch`` has four, ``tables`` is the offsets of lists (four bytes, one more than there are
            transactions), all others have eight; ``gtid`` has none, its text is that of the ids.
            Then the ids: 32-bit offsets, and text. Then what the lists of ``tables`` consist of: the numbers
            of databases and of names (four bytes each), inserts, updates and deletes (eight each).

        Raises:
            IndexError: a table number is beyond those given.
        """

def extents(table: TransactionTable, mask: bytearray) -> tuple[int, int, int, int] | None:
    """Where the first and the last marked transaction start, their least and greatest commit time in µs.

    None where none is marked.

    Raises:
        ValueError: the mask is not as long as the table.
    """
