"""Statements among transactions that are undone: what cannot be taken back, and how XA transactions ended."""

from __future__ import annotations

from binx.errors import RefusedError
from binx.rows.statements import Statement
from binx.slices.sql.script import comment_text
from binx.slices.sql.undo_rows import Obstacles
from binx.source.wording import shortened

_MARKERS = ("SAVEPOINT ", "ROLLBACK TO ", "RELEASE SAVEPOINT ", "XA START ", "XA END ")
SHOWN = 58
"""Characters of a statement that are shown."""


class UndoStatements:
    """Looks at statements for what is in the way.

    Attributes:
        void: numbers of transactions that were prepared, and rolled back in the end.
    """

    def __init__(self, obstacles: Obstacles) -> None:
        self.void: set[int] = set()
        self._obstacles = obstacles
        self._prepared: dict[str, tuple[int, str]] = {}

    def take(self, statement: Statement, number: int) -> None:
        """Look at a statement of the transaction of that number."""
        sql = statement.sql
        if statement.kind != "other":
            what = "a statement" if statement.kind == "ddl" else "a change logged as a statement"
            self._obstacles.add(f"{what}, “{shortened(sql, SHOWN)}”", [statement.transaction])
        elif sql.startswith("XA PREPARE "):
            self._prepared[sql.removeprefix("XA PREPARE ")] = (number, statement.transaction)
        elif sql.startswith(("XA COMMIT ", "XA ROLLBACK ")):
            self._end_xa(sql, statement.transaction)
        elif not sql.upper().startswith(_MARKERS):
            self._obstacles.add(f"“{shortened(sql, SHOWN)}”", [statement.transaction])

    def _end_xa(self, sql: str, transaction: str) -> None:
        _, outcome, xid = sql.split(" ", 2)
        prepared = self._prepared.pop(xid, None)
        if outcome == "ROLLBACK":
            if prepared is not None:
                self.void.add(prepared[0])
        elif prepared is None:
            self._obstacles.add(
                f"XA transaction {comment_text(xid)}: its changes are in the transaction that prepared"
                " it, which is not selected",
                [transaction],
            )

    def finish(self) -> None:
        """Report what cannot be undone.

        Raises:
            RefusedError: there is something.
        """
        for xid, (_, transaction) in self._prepared.items():
            self._obstacles.add(
                f"XA transaction {comment_text(xid)}: whether it was committed", [transaction]
            )
        if self._obstacles:
            reasons = "".join(f"\n  {comment_text(line)}" for line in self._obstacles.lines())
            raise RefusedError(
                "some changes cannot be undone; nothing was written. Choose other transactions, or"
                f" leave these out with --exclude-gtid:{reasons}"
            )
