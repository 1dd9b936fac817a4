"""``extract --format json``: one JSON object a line, for a transaction or for a row change.

A transaction's line has the fields of the data set's ``transactions`` by name, times in RFC 3339, then
``changes`` and ``statements``, which is a list here and no count. A change is
``{"db", "table", "type", "row", "before", "after"}``: an insert has no ``before``, a delete no ``after``; a
column that the log does not have is left out, so absent is not NULL; of a JSON column of which only parts
were logged, the operations stand in ``json_diff``. ``row`` numbers the changes within the transaction.

A change's line begins with ``transaction``, ``commit_version`` and ``commit_timestamp``.
:mod:`binx.export.json_values` says how values are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.export.changes import Begin, Rendered, RowTexts, Selected, ordered_changes
from binx.export.images import BatchImages, ChangeGroup, Images
from binx.export.json_values import json_strings, json_text, json_values
from binx.export.output import Sink
from binx.export.texts import EMPTY, TEXT, as_text, constant, instants, joined, replaced
from binx.log.file import BinlogFile
from binx.log.moments import format_time
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.statements import Statement
from binx.rows.types import LogicalType

BUFFER_BYTES = 1024 * 1024
"""How much is collected before it is written, and how many bytes of statements are kept in memory."""

_MICROSECOND_DIGITS = 6
_SEPARATOR = ", "
_TIMES = ("commit_timestamp", "original_commit_timestamp", "begin_timestamp")


def write_json(selected: Iterable[Selected], output: Sink, catalog: Catalog, *, rows: bool = False) -> int:
    """Write transactions as JSON lines.

    Args:
        selected: the transactions.
        output: where to; see :func:`~binx.export.output.open_output`.
        catalog: the tables known beforehand; moved on by the schema statements met.
        rows: write a line for each row change instead; none for statements and for what was rolled back.

    Returns:
        How many lines were written.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    buffer = bytearray()
    lines = 0
    chunks = _row_lines(selected, catalog) if rows else _transaction_lines(selected, catalog)
    for chunk in chunks:
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            lines += buffer.count(b"\n")
            output.write(buffer)
            buffer = bytearray()
    lines += buffer.count(b"\n")
    output.write(buffer)
    return lines


def _row_lines(selected: Iterable[Selected], catalog: Catalog) -> Iterator[memoryview]:
    undone = False
    for item in ordered_changes(selected, catalog, JsonRows(lines=True)):
        if isinstance(item, Begin):
            undone = item.facts["kind"] == "rollback"
        elif isinstance(item, RowTexts) and not undone:
            yield item.text


def _transaction_lines(selected: Iterable[Selected], catalog: Catalog) -> Iterator[bytes | memoryview]:
    """Changes go out as they come; statements wait for their end, on disk if they are many."""
    with SpooledTemporaryFile(BUFFER_BYTES) as statements:
        first = True
        for item in ordered_changes(selected, catalog, JsonRows(lines=False)):
            if isinstance(item, Begin):
                first = True
                statements.seek(0)
                statements.truncate()
                yield _head(item)
            elif isinstance(item, RowTexts):
                yield item.text[len(_SEPARATOR) :] if first else item.text
                first = False
            elif isinstance(item, Statement):
                statements.write(b"%b%b" % (b", " if statements.tell() else b"", _statement(item)))
            else:
                yield b'], "statements": ['
                statements.seek(0)
                while chunk := statements.read(BUFFER_BYTES):
                    yield chunk
                yield b"]}\n"


def _head(begin: Begin) -> bytes:
    facts = {
        name: format_time(value) if name in _TIMES and value is not None else value
        for name, value in begin.facts.items()
        if name != "statements"
    }
    return _encoded(f'{json_text(facts)[:-1]}, "changes": [')


def _statement(statement: Statement) -> bytes:
    """The fields of the data set's ``statements`` but for those that the transaction has."""
    seconds, microseconds = statement.timestamp, statement.microseconds or 0
    document: dict[str, Any] = {
        "ordinal": statement.ordinal,
        "position": statement.position,
        "event_timestamp": format_time(seconds * 1_000_000 + microseconds),
        "kind": statement.kind,
        "db": statement.db,
        "sql": statement.sql,
        "sql_is_text": statement.sql_is_text,
        "options": statement.options,
        "insert_id": statement.insert_id,
        "last_insert_id": statement.last_insert_id,
        "rand_seeds": statement.rand_seeds,
        "user_vars": statement.user_vars,
        "thread_id": statement.thread_id,
        "exec_time": statement.exec_time,
        "error_code": statement.error_code,
    }
    return _encoded(json_text(document))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


ValueTexts = Callable[[pa.Array, LogicalType], pa.Array]
"""Makes JSON texts of a column, as :func:`~binx.export.json_values.json_values` does."""


class JsonRows:
    """Makes JSON of row changes; a renderer for :func:`~binx.export.changes.ordered_changes`.

    Args:
        lines: a line for each change, with its transaction; else a member of the transaction's array, with a
            separator before it.
        values: makes JSON texts of a column.
        numbered: columns are called ``3: name`` and not ``name``.
    """

    def __init__(self, *, lines: bool, values: ValueTexts = json_values, numbered: bool = False) -> None:
        self._lines = lines
        self._values = values
        self._numbered = numbered

    def __call__(self, changes: ChangeBatch, _: BinlogFile) -> Rendered:
        """One object for each row change of a batch."""
        images = BatchImages(changes)
        return _BatchJson(images, self._values, lines=self._lines, numbered=self._numbered).render()


class _BatchJson:
    """The objects of one batch."""

    def __init__(self, images: BatchImages, values: ValueTexts, *, lines: bool, numbered: bool) -> None:
        self._images = images
        self._numbered = numbered
        self._texts_of = values
        self._lines = lines
        self._cache: dict[int, pa.Array] = {}
        table = images.changes.table
        self._table = f'"db": {json_text(table.db)}, "table": {json_text(table.name)}'

    def render(self) -> Rendered:
        versions, rows = self._images.system("_commit_version"), self._images.system("_row")
        parts: list[Rendered] = []
        for group in self._images.groups():
            pick = group.images.pick
            numbers = pick(rows)
            parts.append(Rendered(pick(versions), numbers, self._objects(group, numbers)))
        if len(parts) == 1:
            return parts[0]
        return Rendered(
            pa.concat_arrays([part.versions for part in parts]),
            pa.concat_arrays([part.rows for part in parts]),
            pa.concat_arrays([part.texts for part in parts]),
        )

    def _objects(self, group: ChangeGroup, numbers: pa.Array) -> pa.Array:
        parts: list[Any] = [
            *self._begin(group.images),
            constant(f'{self._table}, "type": "{group.operation}", "row": '),
            as_text(numbers),
        ]
        for name, images in (("before", group.before), ("after", group.after)):
            if images is not None:
                parts += [constant(f', "{name}": {{'), *self._members(images), constant("}")]
        if group.before is not None and group.after is not None:
            parts += self._differences(group.after)
        return joined(*parts, constant("}\n" if self._lines else "}"))

    def _begin(self, images: Images) -> list[Any]:
        if not self._lines:
            return [constant(f"{_SEPARATOR}{{")]
        transactions = self._images.system("_transaction")
        versions, times = self._images.system("_commit_version"), self._images.system("_commit_timestamp")
        assert transactions is not None
        assert versions is not None
        names = json_strings(as_text(transactions.dictionary)).take(transactions.indices)
        return [
            constant('{"transaction": '),
            images.pick(names),
            constant(', "commit_version": '),
            as_text(images.pick(versions)),
            constant(', "commit_timestamp": "'),
            instants(images.pick(times), _MICROSECOND_DIGITS),
            constant('", '),
        ]

    def _members(self, images: Images) -> list[Any]:
        parts: list[Any] = []
        for number, place in enumerate(images.columns):
            own = self._images.columns[place].source_name
            name = json_text(f"{place + 1}: {own}" if self._numbered else own)
            parts += [constant(f"{', ' if number else ''}{name}: "), images.pick(self._values(place))]
        return parts

    def _values(self, place: int) -> pa.Array:
        found = self._cache.get(place)
        if found is None:
            column = self._images.columns[place]
            found = self._texts_of(self._images.column(place), column.type)
            misfits = self._images.misfits.get(column.name)
            if misfits is not None:
                rows = pa.array([row for row, _ in misfits], pa.int64())
                which = pc.is_in(pa.array(range(len(found)), pa.int64()), value_set=rows)
                texts = [json_text(text).encode() for _, text in misfits]
                found = replaced(found, which, pa.array(texts, TEXT))
            self._cache[place] = found
        return found

    def _differences(self, after: Images) -> list[Any]:
        column = self._images.system("_json_diff")
        if column is None or column.null_count == len(column):
            return []
        differences = after.pick(column)
        members = joined(constant(', "json_diff": '), as_text(differences))
        return [pc.if_else(differences.is_valid(), members, EMPTY)]


__all__ = ["JsonRows", "write_json"]
