"""What stands before the row changes of usual transactions in Tungsten's listing."""

from collections.abc import Callable

from typing_extensions import Buffer

from binx.kernels.transactions import TransactionTable

class ThlHeads:
    """Writes the heads of transactions that are one fragment each.

    Args:
        ending: stands behind the name of the shard.
    """

    def __init__(self, ending: bytes) -> None: ...
    def begin_file(self, file: bytes, epoch: int, schema_of: Callable[[int], bytes]) -> None:
        """Go on with the transactions of another scan.

        Args:
            file: the log's name.
            epoch: the log's epoch.
            schema_of: gives for a table's number the name of its schema.
        """

    def render(
        self, table: TransactionTable, taken: Buffer, first: int, count: int, first_seqno: int, limit: int
    ) -> tuple[int, bytes, bytes]:
        """The heads of some transactions, up to one that is compressed or too large for one fragment.

        Args:
            table: the records.
            taken: the indexes of the transactions that are wanted, int64.
            first: the place there of the first of these.
            count: how many, at most.
            first_seqno: the number in the chain of the table's first transaction.
            limit: bytes of events from which on a transaction may be cut into fragments.

        Returns:
            How many; where the head of each ends, int64; and the heads.

        Raises:
            ValueError: an index is not one of the table's.
        """
