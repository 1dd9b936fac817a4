"""Statements that bring back single rows which foreign keys deleted or changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from binx.rows.images import BatchImages, Images
from binx.rows.parts import Part, assembled, kernel_part
from binx.slices.pieces import Changes, Piece
from binx.slices.sql.foreign_keys import Child, Name
from binx.slices.sql.tables import SqlDialect, SqlTable
from binx.slices.sql.undo_check import UndoCheck
from binx.slices.sql.undo_conditions import ConditionsSql, Ties


class RestoringSql(ConditionsSql):
    """The statements that restore rows of one batch."""

    def __init__(
        self, table: SqlTable, images: BatchImages, dialect: SqlDialect, ties: Ties, check: UndoCheck
    ) -> None:
        super().__init__(table, images, dialect, ties)
        self._check = check

    def inserts(self, rows: Images) -> list[bytes]:
        """An INSERT for each row."""
        check = self._check.of(self._table, self._dialect, "insert")
        if self.may_lack(self._check):
            return self._texts(rows, self.insert_if_there(rows, check), None)
        return self._texts(rows, self._insert(rows), check.around_insert(self._inserted(rows)))

    def sets(self, rows: Images, columns: tuple[int, ...], written: Name, child: Child) -> list[bytes]:
        """For each row an UPDATE that gives columns of a foreign key their values, where these are NULL."""
        check = self._check.of(self._table, self._dialect, "update")
        shown = {place: self._literals(b"", place, rows) for place in self._table.key}

        def parts() -> Iterator[bytes | Part]:
            yield f"UPDATE {self._table.name} SET ".encode()
            for number, place in enumerate(columns):
                lead = b", " if number else b""
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
            lead = b" WHERE "
            for place in self._table.key:
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
                lead = b" AND "
            for place in columns:
                yield f" AND {self._table.names[place]} IS NULL".encode()
            yield from self.if_there(written, child, columns, rows)
            yield from check.behind_row([b"ROW_COUNT()>0"], shown)

        return self._texts(rows, parts(), None)

    def checks(self, rows: Images, columns: Iterable[int]) -> list[bytes]:
        """For each row, what counts it if it has its key and its values of some columns, or keeps its key."""
        check = self._check.of(self._table, self._dialect)
        shown = {place: self._literals(b"", place, rows) for place in self._table.key}

        def parts() -> Iterator[bytes | Part]:
            lead = f"SET @found=EXISTS (SELECT 1 FROM {self._table.name} WHERE "
            for place in self._table.key:
                yield from self._literals(
                    f"{lead}{self._table.names[place]}=".encode(), place, rows, exact=True
                )
                lead = " AND "
            for place in columns:
                yield b" AND "
                yield from self._equal(place, rows)
            yield b")"
            yield from check.behind_row([b"@found"], shown)

        return self._texts(rows, parts(), None)

    def _texts(
        self, rows: Images, parts: Iterable[bytes | Part], statement: tuple[bytes, bytes, bytes] | None
    ) -> list[bytes]:
        count = self._images.size_of(rows)
        changes = Changes(
            self._images.integers("_commit_version"),
            self._images.integers("_row"),
            rows.rows,
            count,
            [kernel_part(part) for part in assembled(parts)],
            statement=statement,
        )
        piece = Piece([changes])
        return [b"".join(piece.text(place, place + 1)) for place in range(count)]
