"""What a script of SQL cannot carry, or one session cannot run, and is refused."""

from __future__ import annotations

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.kernels.transactions.table import Kind
from binx.rows.statements import Statement
from binx.slices.changes import Begin, End, RowTexts, Selected, WholeTexts

_INCIDENT = "-- INCIDENT "
_XA_KIND_NUMBERS = frozenset({Kind.KIND_XA_PREPARE, Kind.KIND_XA_COMMIT, Kind.KIND_XA_ROLLBACK})
_XA_ENDS = frozenset({"xa_commit", "xa_rollback"})

CHECKED_FACTS = ("transaction", "kind")
"""What :class:`PreparedXa` looks at."""


class PreparedXa:
    """MariaDB's session between XA PREPARE and the end: it takes nothing else, not even a GTID (error 1953).

    The number that the server gives next is the one in the log where the end follows at once.

    Attributes:
        ends_here: whether the transaction at hand ends the XA transaction that the one before it prepared.
    """

    def __init__(self) -> None:
        self.ends_here = False
        self._prepared = False
        self._mariadb = False

    @property
    def is_prepared(self) -> bool:
        """Whether the transaction that came last is prepared, and its end must come next."""
        return self._prepared

    def looks_at(self, part: Selected) -> bool:
        """Whether there may be something to follow in a part of a log."""
        if self._prepared or part.file.format.flavour is not Flavour.MARIADB:
            return self._prepared
        return not _XA_KIND_NUMBERS.isdisjoint(memoryview(part.table.column("kind")).cast("q"))

    def take(self, item: Begin | RowTexts | WholeTexts | Statement | End) -> None:
        """Follow the transactions.

        Raises:
            RefusedError: another transaction comes before the end.
        """
        if isinstance(item, Begin):
            ends = item.facts["kind"] in _XA_ENDS
            if self._prepared and not ends:
                raise RefusedError(
                    f"transaction {item.facts['transaction']} ran while an XA transaction was prepared,"
                    " which one session of a MariaDB server cannot do; use --format binlog, or leave"
                    " out one of them"
                )
            self.ends_here, self._prepared = self._prepared and ends, False
            self._mariadb = item.file.format.flavour is Flavour.MARIADB
        elif isinstance(item, Statement) and self._mariadb:
            self._prepared = self._prepared or (item.kind == "other" and item.sql.startswith("XA PREPARE "))


def refuse_other_flavour(flavour: Flavour, begin: Begin) -> None:
    """Raise RefusedError for a transaction of another kind of server than those before it."""
    if begin.file.format.flavour is not flavour:
        raise RefusedError(
            "the logs are of MySQL and of MariaDB, whose SQL differs; write them to separate outputs",
            path=begin.file.path,
        )


def refuse_statement(statement: Statement) -> None:
    """Raise RefusedError for a statement that SQL text cannot carry."""
    where = f"transaction {statement.transaction}"
    if statement.file_bytes is not None:
        raise RefusedError(
            f"{where} is a LOAD DATA, and SQL cannot contain the {statement.file_bytes:,} bytes of its"
            " file; use --format binlog, or leave out the transaction"
        )
    if statement.sql.startswith(_INCIDENT) and statement.thread_id is None:
        raise RefusedError(
            f"{where} says that the server lost events ({statement.sql.removeprefix(_INCIDENT)}), so a"
            " replay would give different data; leave out the transaction"
        )
