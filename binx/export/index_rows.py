"""The transaction index as Parquet, without Arrow: its columns, and what a row group of them is made of."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from binx.export.parquet_format.columns import Values
from binx.export.parquet_format.schema import (
    LIST,
    STRING,
    Group,
    Leaf,
    Node,
    Physical,
    integer,
    timestamp,
)
from binx.kernels.index_columns import IndexColumns
from binx.kernels.levels import Levels
from binx.kernels.numbers import Form
from binx.kernels.transactions import TransactionTable
from binx.log.identifiers import transaction_ids
from binx.log.index_words import INDEX_WORDS, TableNames

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.log.file import BinlogFile
    from binx.log.scanning import TransactionScan


def _number(name: str) -> Leaf:
    return Leaf(name, Form.FORM_INT64, Physical.INT64)


def _time(name: str) -> Leaf:
    return Leaf(name, Form.FORM_INT64, Physical.INT64, timestamp(utc=True))


def _text(name: str) -> Leaf:
    return Leaf(name, Form.FORM_BYTES, Physical.BYTE_ARRAY, STRING)


def _word(name: str, width: int = 1) -> Leaf:
    return Leaf(name, Form.FORM_WORDS, Physical.BYTE_ARRAY, STRING, width=width, has_dictionary=True)


_COUNTS = (_word("db", 4), _word("table", 4), _number("inserts"), _number("updates"), _number("deletes"))

INDEX_COLUMNS: tuple[Node, ...] = (
    _number("commit_version"),
    _text("transaction"),
    _text("gtid"),
    Leaf("xid", Form.FORM_UINT64, Physical.INT64, integer(64, signed=False)),
    _number("server_id"),
    Leaf("epoch", Form.FORM_INT32, Physical.INT32),
    _number("seqno"),
    _word("kind"),
    _word("how"),
    _word("file"),
    _number("start"),
    _number("end"),
    _number("bytes"),
    _number("uncompressed_bytes"),
    _time("commit_timestamp"),
    _word("commit_time_source"),
    _time("original_commit_timestamp"),
    _time("begin_timestamp"),
    _number("last_committed"),
    _number("sequence_number"),
    _number("thread_id"),
    _number("events"),
    _number("rows"),
    _number("statements"),
    Group("tables", (Group("element", _COUNTS),), LIST),
)
"""The columns, as :func:`binx.log.index.index_schema` has them for Arrow."""

INDEX_STATISTICS = tuple(
    column.name
    for column in INDEX_COLUMNS
    if isinstance(column, Leaf) and column.form not in (Form.FORM_BYTES, Form.FORM_WORDS)
)
"""Those whose least and largest values are kept."""


GROUP_ROWS = 32_768
"""Transactions of a row group, at least, but for the last one; each group has thirty column chunks."""


class IndexGroup(NamedTuple):
    """A row group of transactions.

    Attributes:
        rows: how many.
        values: of each leaf.
    """

    rows: int
    values: tuple[Values, ...]


def gather(
    gathered: IndexColumns, file: BinlogFile, table: TransactionTable, *, epoch: int, first_seqno: int
) -> None:
    """Add a table of a scan's transactions to those of a row group.

    Args:
        gathered: the row group as far as it is; :func:`index_group` makes it of that.
        file: the log.
        table: the transactions; at least one.
        epoch: as for :func:`binx.log.index.index_batch`.
        first_seqno: the same.

    Raises:
        UnsupportedError: a transaction begins behind 4 GiB, where no commit version can be given.
    """
    file.commit_version(table.value("start", len(table) - 1))
    gathered.add(table, None, transaction_ids(file, table), file.commit_version(0), first_seqno, epoch)


def index_group(file: BinlogFile, scan: TransactionScan, gathered: IndexColumns) -> IndexGroup:
    """The transactions that were gathered as a row group; nothing is gathered any more.

    Args:
        file: the log.
        scan: the scan that they are of, at ``LEVEL_TABLES``.
        gathered: at least one transaction.
    """
    return IndexGroup(len(gathered), tuple(_values(file, scan, gathered)))


def _values(file: BinlogFile, scan: TransactionScan, gathered: IndexColumns) -> Iterator[Values]:
    count = len(gathered)
    names = TableNames.of(scan, gathered)
    columns, ids, elements = gathered.finish(names.database_numbers, names.table_numbers)
    for column in INDEX_COLUMNS:
        name = column.name
        if name == "tables":
            yield from _tables(count, columns[name][2], elements, names)
        elif name == "transaction":
            yield Values(0, *ids)
        elif name == "gtid":
            yield Values(0, *ids, validity=columns[name][0])
        elif name == "file":
            yield _words(bytes(count), [file.name])
        elif name in INDEX_WORDS:
            yield _words(columns[name][2], INDEX_WORDS[name])
        else:
            validity, _, data = columns[name]
            yield Values(0, data, validity=validity)


def _tables(count: int, offsets: Buffer, elements: tuple[Buffer, ...], names: TableNames) -> Iterator[Values]:
    """What each transaction did to which table."""
    db, name, *counts = elements
    levels = Levels(count)
    # The list, its elements, and their members: each could be null, and none is.
    levels.optional(None, 0)
    levels.repeated(offsets, 0)
    levels.optional(None, 0)
    levels.optional(None, 0)
    yield _words(db, names.databases, levels)
    yield _words(name, names.tables, levels)
    for data in counts:
        yield Values(0, data, levels=levels)


def _words(places: Buffer, words: Sequence[str], levels: Levels | None = None) -> Values:
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = array("i", accumulate(map(len, encoded), initial=0))
    return Values(0, places, b"".join(encoded), offsets, levels=levels)


__all__ = ["GROUP_ROWS", "INDEX_COLUMNS", "INDEX_STATISTICS", "IndexGroup", "gather", "index_group"]
