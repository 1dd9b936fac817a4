"""What cannot be undone, collected and refused together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from binx.errors import RefusedError
from binx.rows.ddl.table_statements import RESTORED_FROM, restored_by
from binx.rows.logged_statements import Statement
from binx.source.wording import shortened
from binx.sql.literals import comment_text

_MARKERS = ("SAVEPOINT ", "ROLLBACK TO ", "RELEASE SAVEPOINT ", "XA START ", "XA END ")
_SHOWN = 58
"""Maximum number of characters of a statement to show."""

EXAMPLES = 3
"""Maximum number of transactions named for each obstacle."""

LISTED = 30
"""Maximum number of reasons listed individually."""


@dataclass(slots=True)
class _Obstacle:
    """A reason why changes cannot be undone."""

    count: int = 0
    transactions: dict[str, None] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


class Obstacles:
    """Changes that cannot be undone, by reason, in order of occurrence."""

    def __init__(self) -> None:
        self._found: dict[str, _Obstacle] = {}

    def add(
        self,
        reason: str,
        transactions: list[str],
        count: int = 1,
        commands: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        """Record that some changes of transactions cannot be undone; ``commands`` restore tables."""
        obstacle = self._found.setdefault(reason, _Obstacle())
        obstacle.count += count
        obstacle.commands += [text for *_, text in commands][: EXAMPLES - len(obstacle.commands)]
        for transaction in transactions[: EXAMPLES - len(obstacle.transactions)]:
            obstacle.transactions[transaction] = None

    def refuse(self) -> None:
        """Raise RefusedError if there is any obstacle."""
        if self._found:
            reasons = "".join(f"\n  {comment_text(line)}" for line in self._lines())
            raise RefusedError(
                "some changes cannot be undone; nothing was written. Choose other transactions, or"
                f" leave these out with --exclude-gtid:{reasons}"
            )

    def _lines(self) -> list[str]:
        lines = []
        named = list(self._found.items())[:LISTED]
        for reason, obstacle in named:
            more = " …" if obstacle.count > len(obstacle.transactions) else ""
            lines.append(f"{reason}: {obstacle.count:,}, in {', '.join(obstacle.transactions)}{more}")
            lines += [f"  restored by: {text}" for text in obstacle.commands]
        if any(obstacle.commands for _, obstacle in named):
            lines.append(f"({RESTORED_FROM})")
        if len(self._found) > LISTED:
            lines.append(f"and {len(self._found) - LISTED:,} more reasons")
        return lines


class UndoStatements:
    """Checks statements for obstacles to an undo.

    Args:
        logs: the paths of all logs that are known.

    Attributes:
        void: numbers of transactions that were prepared and finally rolled back.
    """

    def __init__(self, obstacles: Obstacles, logs: Sequence[str]) -> None:
        self.void: set[int] = set()
        self._obstacles = obstacles
        self._logs = logs
        self._prepared: dict[str, tuple[int, str]] = {}

    def take(self, statement: Statement, number: int, file: str, start: int) -> None:
        """Check a statement of a transaction, given the transaction's number, file and start offset."""
        sql, transaction = statement.sql, statement.transaction
        if statement.kind != "other":
            what = "a statement" if statement.kind == "ddl" else "a change logged as a statement"
            commands = restored_by(statement.followed, statement.db, self._logs, file, start)
            self._obstacles.add(f"{what}, “{shortened(sql, _SHOWN)}”", [transaction], commands=commands)
        elif sql.startswith("XA PREPARE "):
            self._prepared[sql.removeprefix("XA PREPARE ")] = (number, transaction)
        elif sql.startswith(("XA COMMIT ", "XA ROLLBACK ")):
            _, outcome, xid = sql.split(" ", 2)
            prepared = self._prepared.pop(xid, None)
            if outcome == "ROLLBACK" and prepared is not None:
                self.void.add(prepared[0])
            elif outcome == "COMMIT" and prepared is None:
                reason = "its changes are in the transaction that prepared it, which is not selected"
                self._obstacles.add(f"XA transaction {comment_text(xid)}: {reason}", [transaction])
        elif not sql.upper().startswith(_MARKERS):
            self._obstacles.add(f"“{shortened(sql, _SHOWN)}”", [transaction])

    def finish(self) -> None:
        """Raise RefusedError if something cannot be undone."""
        for xid, (_, transaction) in self._prepared.items():
            reason = f"XA transaction {comment_text(xid)}: whether it was committed"
            self._obstacles.add(reason, [transaction])
        self._obstacles.refuse()
