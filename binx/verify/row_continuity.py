"""Compare each logged before image with the last image of its row: a difference shows an unlogged change."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.rows.batches import CHANGE_TYPES, ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading
from binx.rows.row_hashes import row_hashes
from binx.verify.problems import LogProblemKind, Problem

_INSERT, _BEFORE, _AFTER, _DELETE = range(len(CHANGE_TYPES))
_UNKNOWN = len(CHANGE_TYPES)
"""The kind of an image that says nothing: a partial one, or one of a transaction that may be rolled back."""

_IMAGES = np.dtype([("key", "u8"), ("hash", "u8"), ("position", "i8"), ("table", "i4"), ("kind", "i1")])
_HELD = 1 << 20
"""Images that are compared at once."""

_ROWS = 4 << 20
"""Rows of which the last image is remembered; at about 30 bytes each."""

_MAY_BE_UNDONE = (Kind.KIND_XA_PREPARE, Kind.KIND_ROLLBACK)


class RowsCheck:
    """Compares the row images in the logs of one chain, file after file.

    Only rows of tables whose primary key the logs tell are compared, and images that have all columns. A
    statement that may change a table otherwise (DDL, or a change logged as a statement) begins again with it.
    """

    def __init__(self) -> None:
        self.compared = 0
        self._reading = Reading(Catalog())
        self._images: list[NDArray[np.void]] = []
        self._count = 0
        self._last = np.empty(0, _IMAGES)
        self._tables: dict[tuple[str, str], int] = {}
        self._left_out: dict[tuple[str, str], None] = {}
        self._eras: Counter[tuple[str, str | None] | None] = Counter()
        self._forgotten = 0

    def run(self, file: BinlogFile, progress: Callable[[int], None]) -> Iterator[Problem]:
        """Yield a problem for each table of a log with before images that differ.

        Damage, which the check of its content reports, ends the comparison, and what follows begins again.
        """
        found: dict[int, tuple[int, int]] = {}
        try:
            for transactions in find_transactions(file, Level.LEVEL_TABLES, verify=False):
                self._take(file, transactions, found)
                progress(transactions.value("end", len(transactions) - 1))
        except (DamagedError, UnsupportedError):
            self._reading = Reading(Catalog())
            self._images, self._count, self._last = [], 0, self._last[:0]
        self._compare(found)
        names = {number: ".".join(name) for name, number in self._tables.items()}
        for number, (count, position) in sorted(found.items(), key=lambda item: item[1][1]):
            yield Problem(
                LogProblemKind.UNLOGGED_CHANGES,
                file.path,
                f"{names[number]}: row changes that do not fit the rows before them: {count:,}",
                position,
            )

    def notes(self) -> Iterator[str]:
        """Yield what was not compared."""
        if self._left_out:
            names = ", ".join(sorted(".".join(name) for name in self._left_out))
            yield f"not compared: rows of tables without a primary key in the logs, or with versions: {names}"
        if self._forgotten:
            yield (
                f"{self._forgotten:,} rows were not compared with later changes: of more than {_ROWS:,} rows"
                " only those that changed last are remembered"
            )

    def _take(
        self, file: BinlogFile, transactions: TransactionTable, found: dict[int, tuple[int, int]]
    ) -> None:
        """Take in the images of a table of transactions."""
        undone = transactions.mask()
        transactions.keep_values(undone, "kind", list(_MAY_BE_UNDONE))
        starts = [transactions.value("start", index) for index, mark in enumerate(undone) if mark]
        uncertain = np.array([(file.file_number << 32) + start for start in starts], np.int64)
        for item in self._reading.items(file, transactions, transactions.mask()):
            if isinstance(item, ChangeBatch):
                self._add(item, uncertain, found)
            elif item.kind in ("ddl", "dml"):
                # Rows before the statement are of the table before it.
                for batch in self._reading.flush():
                    self._add(batch, uncertain, found)
                self._begin_anew(item)
        for batch in self._reading.flush():
            self._add(batch, uncertain, found)

    def _begin_anew(self, statement: Statement) -> None:
        """Compare what follows with nothing before, of the tables that a statement may have changed."""
        if statement.hides_rows:
            self._eras[None] += 1
        for change in () if statement.followed is None else statement.followed.changes:
            self._eras[change.db, change.table] += 1
            if change.previous is not None:
                self._eras[change.previous.db, change.previous.name] += 1

    def _add(
        self, batch: ChangeBatch, uncertain: NDArray[np.int64], found: dict[int, tuple[int, int]]
    ) -> None:
        batch = batch.with_keys()
        table, columns = batch.table, batch.table.resolved.columns
        name = table.db, table.name
        first = len(batch.columns) - len(columns)
        own = [_plain(batch.array(first + index)) for index in range(len(columns))]
        keys = [index for index, column in enumerate(columns) if column.name in table.resolved.primary_key]
        is_versioned = any(column.generated == "row_end" for column in columns)
        if len(keys) != len(table.resolved.primary_key) or not keys or is_versioned:
            self._left_out[name] = None
            return
        era = self._eras[None], self._eras[table.db, None], self._eras[name]
        seed = hashlib.blake2b(repr((name, era, table.version)).encode(), digest_size=8).digest()
        images = np.empty(batch.rows, _IMAGES)
        images["key"] = row_hashes([(index, own[index]) for index in keys], batch.rows)
        images["key"] ^= int.from_bytes(seed, "little")
        compared = [(index, own[index]) for index, column in enumerate(columns) if column.generated is None]
        images["hash"] = row_hashes(compared, batch.rows)
        images["position"] = _numbers(batch, "_position")
        images["table"] = self._tables.setdefault(name, len(self._tables))
        images["kind"] = np.frombuffer(batch.change_types, np.uint8)
        partial = batch.array(batch.table.shared.indexes["_present"]).is_valid()
        is_unknown = np.asarray(partial.to_numpy(zero_copy_only=False), bool)
        if len(uncertain):
            is_unknown |= np.isin(_numbers(batch, "_commit_version"), uncertain)
        images["kind"][is_unknown] = _UNKNOWN
        self._images.append(images)
        self._count += len(images)
        if self._count > _HELD:
            self._compare(found)

    def _compare(self, found: dict[int, tuple[int, int]]) -> None:
        """Compare the images that are held, and keep the last one of each row."""
        images = np.concatenate([self._last, *self._images])
        self._images, self._count = [], 0
        order = np.argsort(images["key"], kind="stable")
        rows = images[order]
        is_same = rows["key"][1:] == rows["key"][:-1]
        before, after = rows[:-1][is_same], rows[1:][is_same]
        is_known = (before["kind"] != _UNKNOWN) & (after["kind"] != _UNKNOWN)
        was_there = np.isin(before["kind"], (_INSERT, _AFTER))
        is_change = np.isin(after["kind"], (_BEFORE, _DELETE))
        self.compared += int((is_known & is_change).sum())
        differs = is_known & ((is_change != was_there) | (is_change & (before["hash"] != after["hash"])))
        for image in after[differs]:
            count, position = found.get(int(image["table"]), (0, int(image["position"])))
            found[int(image["table"])] = count + 1, min(position, int(image["position"]))
        is_last = np.append(~is_same, True) if len(rows) else np.zeros(0, bool)
        kept = order[is_last]
        if len(kept) > _ROWS:
            self._forgotten += len(kept) - _ROWS
            kept = np.sort(kept)[-_ROWS:]
        self._last = images[np.sort(kept)]


def _plain(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _numbers(batch: ChangeBatch, name: str) -> NDArray[np.int64]:
    array = batch.array(batch.table.shared.indexes[name])
    return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False))
