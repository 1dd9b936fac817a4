"""The library's front: binary logs opened as one thing that can be asked.

>>> import binx
>>> log = binx.open("testdata/mysql-9.7/shop/mysql-bin.000001")
>>> log.index().num_rows
374
>>> sorted({f"{db}.{table}" for db, table in log.tables()})[:2]
['shop.audit_log', 'shop.customers']

No more than the ends of files is read before it is asked for; each question
reads them anew, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from binx.errors import AbsentError, BinxError, UsageError
from binx.kernels.scan import Level
from binx.kernels.transactions import FLAG_HAS_THREAD, FLAG_HAS_XID, Kind, TransactionTable
from binx.log.chain import known_ends, order_ends
from binx.log.file import BinlogFile, open_files
from binx.log.identifiers import transaction_id
from binx.log.inputs import expand_paths
from binx.log.relay import join_relay_logs
from binx.log.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.rows.catalog import Catalog
    from binx.rows.decoder import ChangeDecoder

Path: TypeAlias = str | PathLike[str]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TableChange:
    """How many rows of one table a transaction changed."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """One transaction, as the transaction index knows it.

    Attributes:
        transaction: the GTID; where there is none, a UUID that is the same at each reading.
        gtid: the GTID, None where there is none.
        kind: ``dml``, ``ddl``, ``xa_prepare``, ``xa_commit``, ``xa_rollback``, ``rollback``, ``empty``,
            ``incident``.
        commit_time: with microseconds where the log has them, else to the second.
        commit_version: orders all transactions of a server's chain.
        path: the file.
        start: offset of its first byte.
        end: offset behind its last byte.
        server_id: of the server that made the change first.
        thread_id: the connection, None where the log does not say.
        xid: the storage engine's number of the commit, None where it has none.
        events: events in it.
        rows: row changes in it.
        tables: row changes by table.
    """

    transaction: str
    gtid: str | None
    kind: str
    commit_time: datetime
    commit_version: int
    path: str
    start: int
    end: int
    server_id: int
    thread_id: int | None
    xid: int | None
    events: int
    rows: int
    tables: tuple[TableChange, ...]

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        return self.end - self.start


class Binlogs:
    """One or more binary logs, in the order of their chain.

    Close it, or use it as a context manager, when it is no longer needed.

    Args:
        files: the logs.
        known: tables known beforehand; None: the logs tell of all.

    Attributes:
        files: the logs, each with its path, size and format.
    """

    def __init__(self, files: Sequence[BinlogFile], known: Catalog | None = None) -> None:
        self.files = tuple(files)
        self._known = known

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the files back."""
        for file in self.files:
            file.close()

    def transactions(self) -> Iterator[TransactionRecord]:
        """All transactions in order.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read to its end.
        """
        for file in self.files:
            scan = file.scan(Level.LEVEL_TABLES)
            for table in scan:
                for index in range(len(table)):
                    yield _record(file, scan, table, index)

    def index(self) -> pa.Table:
        """The transaction index: one row a transaction, with the columns of the data set's ``transactions``.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read to its end.
        """
        import pyarrow as pa

        from binx.log.index import index_schema, index_table

        tables = []
        epoch, seqno = 0, 1
        for file in self.files:
            epoch += file.format.at_startup
            table = index_table(file, file.scan(Level.LEVEL_TABLES), epoch=epoch, first_seqno=seqno)
            seqno += table.num_rows
            tables.append(table)
        return pa.concat_tables(tables) if tables else index_schema().empty_table()

    def tables(self) -> list[tuple[str, str]]:
        """Database and name of every table that has row changes, in the order of their first appearance."""
        seen: dict[tuple[str, str], None] = {}
        for file in self.files:
            scan = file.scan(Level.LEVEL_TABLES)
            for _ in scan:
                pass
            seen |= {scan.table_name(number): None for number in range(scan.table_count)}
        return list(seen)

    def changes(self, table: str, *, batch_rows: int | None = None) -> pa.RecordBatchReader:
        """The row changes of one table, as a stream of record batches.

        Whatever takes Arrow takes it as it is: ``reader.read_pandas()``,
        ``polars.from_arrow(reader.read_all())``, ``duckdb.sql("select … from reader")``. Where the table was
        altered in between, all batches have one schema that holds all versions.

        Args:
            table: ``db.table``.
            batch_rows: a batch is handed over when it has so many rows, or those of one more event.

        Raises:
            UsageError: ``table`` is not of that form, or ``batch_rows`` is not at least 1.
            AbsentError: no file has changes of the table.
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read to its end.
        """
        import pyarrow as pa

        from binx.rows.unify import united_schema

        db, dot, name = table.partition(".")
        if not dot or not db or not name:
            raise UsageError(f"expected DB.TABLE, found {table!r}")
        if batch_rows is not None and batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, found {batch_rows}")
        schemas = self._schemas((db, name))
        if not schemas:
            raise AbsentError(
                f"expected changes of rows of {table}, found none in"
                f" {', '.join(file.path for file in self.files)}; tables() names those that have some"
            )
        schema = united_schema(schemas)
        return pa.RecordBatchReader.from_batches(schema, self._batches((db, name), schema, batch_rows))

    def _schemas(self, wanted: tuple[str, str]) -> list[pa.Schema]:
        """The schema versions of a table, in order, by a pass that decodes no row."""
        catalog = self._catalog()
        schemas: list[pa.Schema] = []
        for decoder in self._decoders(catalog, wanted, None):
            for _ in self._decoded(decoder, rows=False):
                pass
            schemas += [changes.schema for changes in decoder.tables]
        return schemas

    def _batches(
        self, wanted: tuple[str, str], schema: pa.Schema, batch_rows: int | None
    ) -> Iterator[pa.RecordBatch]:
        from binx.rows.batches import ChangeBatch
        from binx.rows.unify import cast_batch

        for decoder in self._decoders(self._catalog(), wanted, batch_rows):
            for item in self._decoded(decoder, rows=True):
                if isinstance(item, ChangeBatch):
                    yield cast_batch(item.batch, schema)

    def _decoders(
        self, catalog: Catalog, wanted: tuple[str, str], batch_rows: int | None
    ) -> Iterator[ChangeDecoder]:
        from binx.rows.decoder import ROW_GROUP_ROWS, ChangeDecoder, DecoderOptions

        options = DecoderOptions(row_group_rows=batch_rows or ROW_GROUP_ROWS)
        for file in self.files:
            yield ChangeDecoder(file, catalog, lambda db, name: (db, name) == wanted, options)

    def _decoded(self, decoder: ChangeDecoder, *, rows: bool) -> Iterator[object]:
        """All that a decoder makes of its file; without rows, only names and schemas are found out."""
        decoder.resolve_only = not rows
        for table in decoder.file.scan(Level.LEVEL_TABLES, verify=rows):
            mask = table.mask()
            table.mark_work(mask)
            yield from decoder.decode(table, mask)
        yield from decoder.finish()

    def _catalog(self) -> Catalog:
        from binx.rows.catalog import Catalog

        return Catalog() if self._known is None else self._known.copy()


def open(  # noqa: A001 - it is called as binx.open
    *paths: Path,
    schema: Path | None = None,
    keyring: Path | Sequence[Path] | None = None,
    key_file: Path | None = None,
    identity: Path | Sequence[Path] | None = None,
) -> Binlogs:
    """Open binary logs of one server's chain; they come in its order, however they are named.

    Args:
        paths: files, ``.index`` files, folders, or URIs that ``pyarrow.fs`` knows.
        schema: SQL as ``mysqldump --no-data`` writes it, which names the columns where the logs do not: a
            text, or as :class:`pathlib.Path` a file of it.
        keyring: the server's keyring file, or several, for encrypted logs; else ``BINX_KEYRING`` in the
            environment.
        key_file: a file that holds one key; else ``BINX_KEY_FILE``, or the key itself in ``BINX_KEY``.
        identity: a file of age identities, or several, for files that are encrypted with age; else
            ``BINX_IDENTITY``.

    Raises:
        UsageError: no path is given, or ``schema`` is a text that defines no table.
        SourceError: a file cannot be read.
        NotABinlogError: a file is no binary log.
        EncryptedError: a file is encrypted, and no key fits.
    """
    if not paths:
        raise UsageError("expected at least one binary log to open, found none")
    known = None if schema is None else _known_tables(schema)
    keys = None
    if any(given is not None for given in (keyring, key_file, identity)):
        from binx.source.keyring import given_keys

        keys = given_keys(
            _listed(keyring),
            None if key_file is None else fspath(key_file),
            _listed(identity),
        )
    files = open_files(expand_paths([fspath(path) for path in paths]), keys)
    try:
        join_relay_logs(files)
        ordered = [ends.file for ends in order_ends(map(known_ends, files))]
    except BinxError:
        for file in files:
            file.close()
        raise
    return Binlogs(ordered, known)


def _listed(paths: Path | Sequence[Path] | None) -> list[str]:
    if paths is None:
        return []
    return [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]


def _known_tables(schema: Path) -> Catalog:
    from binx.export.known_tables import read_dump
    from binx.rows.catalog import Catalog

    if isinstance(schema, PathLike):
        catalog, _ = read_dump(fspath(schema))
        return catalog
    catalog = Catalog()
    catalog.load_dump(schema)
    if not len(catalog):
        raise UsageError(
            "expected SQL with CREATE TABLE statements as the schema, found a text without any; give the path"
            " of a file as pathlib.Path"
        )
    return catalog


def _record(file: BinlogFile, scan: Scan, table: TransactionTable, index: int) -> TransactionRecord:
    flags = table.value("flags", index)
    start = table.value("start", index)
    counts = tuple(
        TableChange(*scan.table_name(number), inserts, updates, deletes)
        for number, inserts, updates, deletes, _ in table.counts_of(index)
    )
    return TransactionRecord(
        transaction=transaction_id(file, table, index),
        gtid=table.gtid(index),
        kind=Kind(table.value("kind", index)).name.removeprefix("KIND_").lower(),
        commit_time=_EPOCH + timedelta(microseconds=table.value("commit_timestamp", index)),
        commit_version=file.commit_version(start),
        path=file.path,
        start=start,
        end=table.value("end", index),
        server_id=table.value("server_id", index),
        thread_id=table.value("thread_id", index) if flags & FLAG_HAS_THREAD else None,
        xid=table.value("xid", index) & 0xFFFFFFFFFFFFFFFF if flags & FLAG_HAS_XID else None,
        events=table.value("events", index),
        rows=table.value("rows", index),
        tables=counts,
    )
