"""The boundary state machine: what each event does to the transaction around it."""

from binx.kernels.layouts import TableMaps
from binx.kernels.transactions import TransactionTable

class TransactionMachine:
    """The state between two events, and the transactions that have ended.

    Attributes:
        table: the transactions found since the last :meth:`new_table`.
        maps: the table maps seen.
        has_gtids: whether an event that names a transaction was met.
        checks_sessions: whether the sessions of statements are looked at.
        bad_sessions: how many of them cannot be read.
        first_bad_session: where the event of the first of these stands, or the payload event around it.
    """

    has_gtids: bool
    checks_sessions: bool
    bad_sessions: int
    first_bad_session: int

    @property
    def table(self) -> TransactionTable: ...
    @property
    def maps(self) -> TableMaps: ...
    def new_table(self) -> TransactionTable:
        """Begin a new table for the transactions to come, and return the one that was filled."""

    def uncounted_events(self, table: int) -> int:
        """How many rows events of a table are not counted, as nobody knows how wide a column of it is."""

    @property
    def open_transaction(self) -> int | None:
        """Where the transaction begins that has no end yet, or None."""

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of each event about the file itself that stood between transactions."""
