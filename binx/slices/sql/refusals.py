"""Refuse what SQL cannot express, and what one session cannot run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.kernels.transactions.table import Kind
from binx.log.identifiers import transaction_id
from binx.log.scanning import KIND_NAMES
from binx.log.selection.table_filter import XaEnds
from binx.rows.logged_statements import Statement
from binx.slices.items import Begin, Item
from binx.slices.search import Selected

_INCIDENT = "-- INCIDENT "
_NO_ESCAPES = "NO_BACKSLASH_ESCAPES"
_XA_ENDS = frozenset({"xa_commit", "xa_rollback"})


class PreparedXa:
    """MariaDB's session state after XA PREPARE: it accepts only the end of the XA transaction.

    It rejects everything else, even setting a GTID (error 1953). The next number that the server assigns is
    the logged one if the end follows directly.

    Attributes:
        is_prepared: whether the last transaction is prepared, so that its end must come next.
        ends_here: whether the current transaction ends the XA transaction that the previous one prepared.
    """

    def __init__(self) -> None:
        self.is_prepared = False
        self.ends_here = False
        self._mariadb = False

    def check(self, part: Selected) -> None:
        """Check all transactions of a part of a log.

        Raises:
            RefusedError: another transaction comes before the end.
        """
        table, mariadb = part.table, part.file.format.flavour is Flavour.MARIADB
        if mariadb and (self.is_prepared or XaEnds.steps(table, part.mask)):
            for index in table.marked(part.mask):
                kind = KIND_NAMES[Kind(table.value("kind", index))]
                self._begin(kind, partial(transaction_id, part.file, table, index))
                self.is_prepared = kind == "xa_prepare"

    def take(self, item: Item) -> None:
        """Check the transactions as they come.

        Raises:
            RefusedError: another transaction comes before the end.
        """
        if isinstance(item, Begin):
            facts = item.facts
            self._begin(facts["kind"], lambda: facts["transaction"])
            self._mariadb = item.file.format.flavour is Flavour.MARIADB
        elif isinstance(item, Statement) and self._mariadb:
            self.is_prepared |= item.kind == "other" and item.sql.startswith("XA PREPARE ")

    def _begin(self, kind: str, transaction: Callable[[], str]) -> None:
        ends = kind in _XA_ENDS
        if self.is_prepared and not ends:
            raise RefusedError(
                f"transaction {transaction()} ran while an XA transaction was prepared, which one session of"
                " a MariaDB server cannot do; use --format binlog, or leave out one of them"
            )
        self.ends_here, self.is_prepared = self.is_prepared and ends, False


def refuse_other_flavour(flavour: Flavour, begin: Begin) -> None:
    """Raise RefusedError if a transaction's server flavour differs from that of the earlier ones."""
    if begin.file.format.flavour is not flavour:
        raise RefusedError(
            "the logs are of MySQL and of MariaDB, whose SQL differs; write them to separate outputs",
            path=begin.file.path,
        )


def refuse_statement(statement: Statement, *, loads: bool = False) -> None:
    """Raise RefusedError for a statement that SQL text cannot express.

    Args:
        loads: whether files of LOAD DATA statements are written.
    """
    where = f"transaction {statement.transaction}"
    if statement.loaded is not None and not loads:
        raise RefusedError(
            f"{where} is a LOAD DATA, whose file of {statement.loaded.bytes:,} bytes is written beside the"
            " SQL: say where with --local-load DIR, use --format binlog, or leave out the transaction"
        )
    if statement.loaded is not None and statement.error_code:
        raise RefusedError(
            f"{where} is a LOAD DATA that ended with error {statement.error_code} after some rows, which a"
            " script cannot repeat; use --format binlog, or leave out the transaction"
        )
    if statement.loaded is not None and _NO_ESCAPES in statement.options.get("sql_mode", "").split(","):
        raise RefusedError(
            f"{where} is a LOAD DATA of a session with {_NO_ESCAPES}: servers log its separators with"
            " escapes, which no server reads in that mode; leave out the transaction, and copy the table"
        )
    if statement.sql.startswith(_INCIDENT) and statement.thread_id is None:
        raise RefusedError(
            f"{where} says that the server lost events ({statement.sql.removeprefix(_INCIDENT)}), so a"
            " replay would give different data; leave out the transaction"
        )
