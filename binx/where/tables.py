"""A condition asked of one batch of row changes after another, and which tables it could be asked of."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from binx.rows.images import BatchImages, ChangeGroup
from binx.where.condition import Condition
from binx.where.values import IncomparableError


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """The tables whose rows a condition was asked of.

    Attributes:
        tables: their names.
        applied: whether the condition applies to one of them.
        incomparable: versions of tables that have the condition's columns, but of types that it cannot be
            compared with: the table's name and why, each once.
    """

    tables: tuple[str, ...] = ()
    applied: bool = False
    incomparable: tuple[tuple[str, str], ...] = ()


class AskedCondition:
    """A condition, and what came of asking it so far."""

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._tables: dict[str, None] = {}
        self._applied = False
        self._incomparable: dict[tuple[str, str], None] = {}
        self._untold: dict[str, None] = {}

    def note_table(self, images: BatchImages) -> None:
        """Note that a table has rows; a condition that applies to no noted table is an error in the end."""
        self._tables[_name_of(images)] = None

    def ask(self, images: BatchImages) -> list[tuple[ChangeGroup, pa.BooleanArray]] | None:
        """The changes of a batch, with marks for those that match; None if the condition does not apply."""
        if not self._condition.applies(images):
            return None
        try:
            found = list(self._condition.passing(images))
        except IncomparableError as error:
            why = _name_of(images), error.message
            self._incomparable[why] = None
            self._untold[_warning(*why)] = None
            return None
        self._applied = True
        return found

    @property
    def seen(self) -> RowsSeen:
        """The tables that the condition was asked of."""
        return RowsSeen(tuple(self._tables), self._applied, tuple(self._incomparable))

    def take_seen(self, seen: RowsSeen) -> None:
        """Count what the same condition was asked of elsewhere."""
        self._tables.update(dict.fromkeys(seen.tables))
        self._applied |= seen.applied
        self._incomparable.update(dict.fromkeys(seen.incomparable))

    @property
    def warnings(self) -> list[str]:
        """Warnings about versions of tables to which the condition does not apply."""
        return [_warning(table, why) for table, why in self._incomparable]

    def take_warnings(self) -> dict[str, None]:
        """The warnings since this was last called, each once."""
        untold, self._untold = self._untold, {}
        return untold

    def check(self) -> None:
        """Raise an error if the condition applies to no table.

        Raises:
            AbsentError: none has its columns.
            IncomparableError: those that have them cannot be compared with its literals.
        """
        if self._applied:
            return
        for _, why in self._incomparable:
            raise IncomparableError(why)
        if self._tables:
            raise self._condition.lacking(self._tables)


def _name_of(images: BatchImages) -> str:
    table = images.changes.table
    return f"{table.db}.{table.name}"


def _warning(table: str, why: str) -> str:
    return f"{table}: rows to which the condition does not apply were skipped: {why}"
