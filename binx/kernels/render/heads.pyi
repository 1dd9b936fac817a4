"""What stands before the row changes of usual transactions in a script of SQL, many at a time."""

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

def whole_transactions(
    table: TransactionTable,
    taken: Buffer,
    first: int,
    versions: Buffer,
    marks: Buffer,
    ends: Buffer,
    run: int,
    stop: int,
    usual: bool,
    mark: int,
    without_gtid: bool,
) -> int:
    """How many of the transactions that come next are whole in the runs of row changes that come next.

    They have row changes alone, and all of them stand in one run each.

    Args:
        table: the transactions.
        taken: the indexes of those that are wanted, int64.
        first: the place there of the one that comes next.
        versions: commit versions of runs, int64.
        marks: their marks, bytes.
        ends: where they end, int64.
        run: the run that comes next.
        stop: the run at which to stop.
        usual: whether only those count that a script of SQL runs between BEGIN and COMMIT, and that all have
            a GTID, or all have none.
        mark: of these, the mark that they must have.
        without_gtid: of these, whether they may be without a GTID.

    Raises:
        ValueError: the runs' columns are not alike in length.
    """

class SqlHeads:
    """Writes the heads of transactions in a script."""

    def __init__(self, mariadb: bool) -> None:
        """Say whether the script is for a server of MariaDB."""

    def render(
        self,
        table: TransactionTable,
        taken: Buffer,
        first: int,
        count: int,
        file: bytes,
        id_offsets: bytes,
        id_text: bytes,
        moment: int,
    ) -> tuple[bytes, bytes, int]:
        """The remark, the time, the GTID and BEGIN of some transactions.

        Args:
            table: the transactions.
            taken: the indexes of those that are wanted, int64.
            first: the place there of the first.
            count: how many.
            file: the log's name as remarks have it.
            id_offsets: see :func:`~binx.log.identifiers.transaction_ids`.
            id_text: the same.
            moment: the time that is in force, in seconds since 1970; -1 for none.

        Returns:
            Where each head ends (8 bytes each, native byte order), the heads, and the time then in force.

        Raises:
            ValueError: the transactions or the identifiers are not of the table.
        """
