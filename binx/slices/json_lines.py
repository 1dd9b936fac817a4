"""``extract --format json``: one JSON object per line, for a transaction or for a row change.

A transaction's line has the fields of the data set's ``transactions`` by name, times in RFC 3339, then
``changes`` and ``sql_statements``. A change is ``{"db", "table", "type",
"row", "before", "after"}``: an insert has no ``before``, a delete no ``after``. A column that is not in the
log is left out, which distinguishes it from NULL. If only parts of a JSON column were logged, ``json_diff``
has the operations. ``row`` numbers the changes within the transaction.

A change's line begins with ``transaction``, ``commit_version`` and ``commit_timestamp``. See
:mod:`binx.sql.values` for the format of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from tempfile import SpooledTemporaryFile

import pyarrow as pa

from binx.kernels.render.transactions import Spelling, TextColumn, TransactionTexts
from binx.log.binlog_file import BinlogFile
from binx.log.index.transactions import index_schema
from binx.report.document import document
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, Heads, RowTexts, WholeTexts
from binx.slices.rendering import BUFFER_BYTES, Changes, Part, Parts, changes_of, columns, gathered
from binx.slices.row_choice import RowChoice
from binx.slices.search import Selected
from binx.source.wording import encoded
from binx.sql.values import ColumnTexts, JsonValues, Spelled, ValueWriter, plain_json
from binx.storage.output import Sink

_MICROSECOND_DIGITS = 6
_SEPARATOR = b", "


def write_json(
    selected: Iterable[Selected],
    output: Sink,
    catalog: Catalog,
    *,
    rows: bool = False,
    choice: RowChoice | None = None,
) -> list[str]:
    """Write transactions as JSON lines.

    Args:
        rows: write a line for each row change instead; none for statements and for rolled back transactions.
        choice: selects the row changes and statements; None for all. Transactions without any have no line.

    Returns:
        Warnings about unknown names and types.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    write = _row_lines if rows else _transaction_lines
    reading = reading_in_pieces(catalog, choice=choice, raw_text=True, keeps=True)
    for chunk in gathered(write(selected, reading, choice)):
        output.write(chunk)
    return reading.warnings


def _row_lines(
    selected: Iterable[Selected],
    reading: Reading,
    choice: RowChoice | None,
) -> Iterator[bytes]:
    undone = False
    for item in ordered_changes(
        selected,
        reading,
        JsonRows(lines=True),
        facts=("kind",),
        choice=choice,
    ):
        if isinstance(item, Begin):
            undone = item.facts["kind"] == "rollback"
        elif isinstance(item, RowTexts) and not undone:
            yield from item.text()


def _transaction_lines(
    selected: Iterable[Selected],
    reading: Reading,
    choice: RowChoice | None,
) -> Iterator[bytes]:
    """Write changes as they arrive; hold statements until the end, on disk if there are many."""
    heads = _heads()
    items = ordered_changes(
        selected,
        reading,
        JsonRows(lines=False),
        separator=_SEPARATOR,
        facts=(),
        choice=choice,
        frames=lambda run: heads.frame(run, run.usual()),
    )
    with SpooledTemporaryFile(BUFFER_BYTES) as statements:
        head = b""
        for item in items:
            if isinstance(item, WholeTexts):
                yield from item.text
            elif isinstance(item, Begin):
                statements.seek(0)
                statements.truncate()
                head = heads.text(item)
            elif isinstance(item, RowTexts):
                yield head
                head = b""
                yield from item.text()
            elif isinstance(item, Statement):
                statements.write(b"%b%b" % (_SEPARATOR if statements.tell() else b"", _statement(item)))
            elif choice is None or not head or (statements.tell() and not choice.only_rows):
                yield head
                yield b'], "sql_statements": ['
                statements.seek(0)
                while chunk := statements.read(BUFFER_BYTES):
                    yield chunk
                yield b"]}\n"


def _heads() -> Heads:
    fields = [
        (f'{", " if index else "{"}"{name}": '.encode(), TextColumn[f"COLUMN_{name.upper()}"], b"")
        for index, name in enumerate(index_schema().names)
    ]
    texts = TransactionTexts(fields, b', "changes": [', True, b"null", None)
    return Heads(texts, b'], "sql_statements": []}\n', plain_json, lambda *name: f"{{{_named(*name)}")


def _named(db: str, table: str) -> str:
    return f'"db": {plain_json(db)}, "table": {plain_json(table)}'


def _statement(statement: Statement) -> bytes:
    """Return the fields of the data set's ``statements`` except those that the transaction has."""
    moment = statement.timestamp * 1_000_000 + (statement.microseconds or 0)
    facts = {**statement._asdict(), "event_timestamp": moment}
    return encoded(plain_json(document("statement", facts)))


class JsonRows:
    """Renders row changes as JSON; a renderer for :func:`~binx.slices.changes.ordered_changes`.

    Args:
        lines: make each change a line of its own, which begins with its transaction's fields.
        between: write a comma before each change of a rows event except the first.
        keys: name the columns of the table's primary key in each change, as ``key``.
    """

    def __init__(
        self, *, lines: bool, values: ValueWriter | None = None, between: bool = False, keys: bool = False
    ) -> None:
        self._lines = lines
        self._values = values or JsonValues()
        self._between = between
        self._keys = keys

    def __call__(self, changes: ChangeBatch, _: BinlogFile) -> list[Changes]:
        """Return one object for each row change of a batch."""
        images = BatchImages(changes)
        values = cache(lambda index: self._values.column(images, index))
        return changes_of(images, lambda group: self._parts(images, values, group))

    def _parts(self, images: BatchImages, values: ColumnTexts, group: ChangeGroup) -> Parts:
        rows, table = group.images.rows, images.changes.table
        yield from self._begin(images, rows)
        yield encoded(f'{_named(table.db, table.name)}, "type": "{group.operation}", "row": ')
        yield Part(b"", Spelled(Spelling.SPELL_SIGNED, images.system("_row")), rows)
        yield Part(b', "statement": ', Spelled(Spelling.SPELL_SIGNED, images.system("_statement")), rows)
        for name, side in (("before", group.before), ("after", group.after)):
            if side is not None:
                yield encoded(f', "{name}": {{')
                for number, index in enumerate(side.columns):
                    lead = f"{', ' if number else ''}{plain_json(images.columns[index].source_name)}: "
                    yield from columns(encoded(lead), values(index), side.rows)
                yield b"}"
        if self._keys:
            key = table.resolved.primary_key
            names = [column.source_name for column in images.columns if column.name in key]
            yield encoded(f', "key": {plain_json(names)}')
        differences = images.system("_json_diff")
        if group.operation == "update" and differences is not None:
            yield Part(b"", Spelled(Spelling.SPELL_TEXT, differences, b', "json_diff": '), rows)
        yield b"}\n" if self._lines else b"}"

    def _begin(self, images: BatchImages, rows: pa.Array | None) -> Parts:
        if not self._lines:
            if self._between:
                yield Part(_SEPARATOR, Spelled(Spelling.SPELL_BETWEEN))
            yield b"{"
            return
        system = images.system
        yield Part(b'{"transaction": ', Spelled(Spelling.SPELL_JSON, system("_transaction")), rows)
        versions = Spelled(Spelling.SPELL_SIGNED, system("_commit_version"))
        yield Part(b', "commit_version": ', versions, rows)
        times = Spelled(
            *(Spelling.SPELL_INSTANT, system("_commit_timestamp"), b'"', b'Z"'),
            parameter=_MICROSECOND_DIGITS,
        )
        yield Part(b', "commit_timestamp": ', times, rows)
        yield b", "
