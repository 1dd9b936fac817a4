"""SQL over logs, data sets and loaded tables: DuckDB, with views of what they hold.

>>> import binx
>>> sql = "SELECT count(*) AS orders FROM shop.orders WHERE _change_type = 'insert'"
>>> binx.query(sql, "testdata/mysql-9.7/shop/mysql-bin.000001").to_pylist()
[{'orders': 112}]
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from os import PathLike, fspath, getpid
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from binx.api.logs import Binlogs, Transactions, state_of
from binx.api.open_logs import open as open_logs
from binx.errors import AbsentError, BinxError, BinxWarning, UsageError
from binx.lake.dataset.manifests import is_data_set
from binx.lake.place import LakeStore
from binx.lake.published.views import HISTORY, VERSIONS, DuckDb
from binx.lake.state.loaded_state import LifeRecord
from binx.lake.state.output_folder import STATE, Output
from binx.lake.table_changes import FACTS, read_changes, read_facts, read_schemas
from binx.lake.table_name import TableName
from binx.version import install_command

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    Batches = Callable[[], Iterable[pa.RecordBatch]]
    Located = tuple[tuple[str, str], pa.Schema, Batches]
    Source = Transactions | str | PathLike[str] | Sequence[str | PathLike[str]]

_QUERIES = ("SELECT", "EXPLAIN", "MULTI")
"""What queries are to DuckDB's parser; MULTI is a PIVOT."""

_STATE_CALL = re.compile(
    r"\bstate\s*\(\s*'(?P<table>(?:[^']|'')*)'\s*"
    r"(?:,\s*(?:moment\s*[:=]=?>?\s*)?'(?P<moment>(?:[^']|'')*)'\s*)?\)",
    re.IGNORECASE,
)
_STATE_TABLE = "state_"
_MACRO = f"""CREATE MACRO state(name, moment := '') AS TABLE
SELECT * FROM query_table('{_STATE_TABLE}' || md5(name || chr(10) || moment))"""
"""DuckDB has no table functions in Python: a state that a query names is registered, and found by this."""

_RESERVED = ("information_schema", "pg_catalog")
"""Schemas that DuckDB keeps for itself."""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "U", "DECIMAL", "FLOAT", "DOUBLE")
_BATCH_ROWS = 10_000


class Database:
    """DuckDB in memory, with views of binary logs, a data set or loaded tables.

    For logs and a data set, each table's row changes are a view (``shop.orders``), as are ``transactions``
    and ``statements``, and ``state('shop.orders', '2026-11-21 09:50')`` is a table at a moment. For loaded
    tables there are the views that the load wrote. Rows are read while a query runs.

    Args:
        source: opened logs or selected transactions; paths of logs; or a folder or URI of a data set or
            loaded tables.
        is_isolated: whether SQL can read no other files.

    Attributes:
        connection: DuckDB's connection.

    Raises:
        BinxError: DuckDB is not installed, or the source cannot be read.
    """

    def __init__(self, source: Source, *, is_isolated: bool = False) -> None:
        try:
            import duckdb
        except ImportError:
            raise BinxError(f"queries need the package duckdb: {install_command('query')}") from None
        self._closing = ExitStack()
        if isinstance(source, str | PathLike):
            source = fspath(source) if has_tables(fspath(source)) else [source]
        if not isinstance(source, Transactions | str):
            source = self._closing.enter_context(open_logs(source))
        self._source = source
        self._loaded: Output | None = None
        self._failures: list[Exception] = []
        self._lock = Lock()
        spill = Path(tempfile.gettempdir()) / f"binx-query-{getpid()}"
        self.connection = duckdb.connect(config={"temp_directory": str(spill)})
        self._closing.callback(self.connection.close)
        # Where Python has no main file, DuckDB draws a bar on standard output, among the rows.
        self._run("SET enable_progress_bar = false; SET python_enable_replacements = false")
        self._run("SET TimeZone = 'UTC'")
        with self._errors():
            self._run(_MACRO)
            if isinstance(source, Transactions) or is_data_set(source):
                self._add_views()
            else:
                self._loaded = Output(LakeStore(source))
                self._add_loaded(self._loaded.place)
            if is_isolated:
                self._run("SET enable_external_access = false; SET lock_configuration = true")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._source}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB's connection, and logs that were given as paths."""
        self._closing.close()

    def sql(self, text: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query, which is computed when it is fetched.

        Raises:
            UsageError: it is wrong, or not one query.
            AbsentError: it asks for a table that does not exist.
            BinxError: DuckDB cannot answer it, or what it needs cannot be read.

        Warns:
            BinxWarning: what is missing from a table that it names.
        """
        self._failures.clear()
        with self._errors():
            statements = self.connection.extract_statements(text)
            if len(statements) != 1 or statements[0].type.name not in _QUERIES:
                raise UsageError("expected one query, SELECT or the like, found another statement or several")
            for call in _STATE_CALL.finditer(text):
                table, moment = ((call[name] or "").replace("''", "'") for name in ("table", "moment"))
                self._add_state(table, moment)
            result = self.connection.sql(text)
        for record in self._incomplete(text):
            for reason in record.sentences:
                warnings.warn(f"{record.name} is incomplete: {reason}", BinxWarning, stacklevel=2)
        return result

    def texts(self, text: str) -> tuple[list[bool], list[str], Iterator[tuple[str | None, ...]]]:
        """Return whether a result's columns are numbers, their names, and its rows as texts, NULL as None."""
        result = self.sql(text)
        numeric = [str(kind).startswith(_NUMBERS) for kind in result.types]
        return numeric, result.columns, self._fetched(result.project("COLUMNS(*)::VARCHAR"))

    def json(self, text: str) -> Iterator[str]:
        """Yield the rows of a result as JSON objects; numbers that JSON does not have are null."""
        finite = _replaced(self.sql(text), ("FLOAT", "DOUBLE"), "CASE WHEN isfinite({0}) THEN {0} END")
        rows = finite.set_alias("row").project('to_json("row")')
        yield from (line for (line,) in self._fetched(rows))

    def batches(self, text: str) -> pa.RecordBatchReader:
        """Return a result as a stream of Arrow, with durations for intervals, such as of TIME columns."""
        import pyarrow as pa

        result = self.sql(text)
        times = {name for name, kind in zip(result.columns, result.types, strict=True) if kind == "INTERVAL"}
        with self._errors():
            reader = _replaced(result, ("INTERVAL",), "epoch_us({0})").to_arrow_reader(_BATCH_ROWS)
        schema = pa.schema(
            [field.with_type(pa.duration("us")) if field.name in times else field for field in reader.schema]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            with self._errors():
                yield from (batch.cast(schema) for batch in reader)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def read(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield batches for DuckDB, whose threads take turns; an error is kept, as DuckDB keeps its text."""
        try:
            iterator = iter(batches())
            while True:
                with self._lock:
                    batch = next(iterator, None)
                if batch is None:
                    return
                yield batch
        except Exception as error:
            self._failures.append(error)
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of DuckDB into errors of binx; if reading failed, into that error."""
        import duckdb
        import pyarrow as pa

        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            if self._failures:
                raise self._failures.pop() from None
            message = " ".join(str(error).split("\n\n")[0].split())
            if isinstance(error, duckdb.CatalogException):
                if f"name {_STATE_TABLE}" in message:
                    message = (
                        "expected two texts in state(), such as state('shop.orders', '2026-11-21 09:50')"
                    )
                if self._loaded is not None and self._loaded.state.catalog:
                    message += f"; rows are in tables of the catalog {self._loaded.state.catalog}"
                raise AbsentError(message) from error
            if isinstance(error, duckdb.ProgrammingError):
                raise UsageError(message) from error
            raise BinxError(f"DuckDB ended the query: {message}") from error

    def _fetched(self, result: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            for batch in result.to_arrow_reader(_BATCH_ROWS):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _add_views(self) -> None:
        taken: set[str] = set()
        for (db, table), schema, batches in self._tables():
            inside, name = (f"{db}_" if db.lower() in _RESERVED else db), table
            # To DuckDB, names that differ by case alone are one.
            while (registered := f"{inside}.{name}" if db else name).lower() in taken:
                name += "_"
            taken.add(registered.lower())
            self.connection.register(registered, _ScannedTable(self, schema, batches))
            if db:
                within = f"memory.{DuckDb.name(inside)}"
                self._run(f"CREATE SCHEMA IF NOT EXISTS {within}")
                self._run(f"CREATE VIEW {within}.{DuckDb.name(name)} AS FROM {DuckDb.name(registered)}")

    def _tables(self) -> Iterator[Located]:
        """Yield what there is to be views: database and name, schema, and what yields its batches."""
        source = self._source
        facts: dict[str, Batches]
        if isinstance(source, Transactions):
            for name, schema in source.schemas().items():
                yield name, schema, partial(source.batches, name, schema)
            facts = {"transactions": lambda: source.index().to_batches(), "statements": source.statements}
        else:
            for name, schema in read_schemas(source).items():
                yield name, schema, partial(read_changes, source, str(TableName(*name)))
            facts = {kind: partial(read_facts, source, kind) for kind in FACTS}
        for kind, schema_of in FACTS.items():
            yield ("", kind), schema_of(), facts[kind]

    def _add_loaded(self, place: LakeStore) -> None:
        """Add the views that a load wrote, for the folder where they are now."""
        self._run(DuckDb.script(place))
        self._run(f"SET allowed_directories = [{DuckDb.text(place.shown(''))}]")

    def _add_state(self, table: str, moment: str) -> None:
        source, at = self._source, moment or None
        if isinstance(source, Binlogs):
            rows = source.state(table, at)
        elif isinstance(source, str) and self._loaded is None:
            rows = state_of(source, TableName.parse(table), at, (), None)
        else:
            raise UsageError(
                "state() needs a data set, or logs without a selection; loaded tables have views of their"
                " history, and of versions with binx load --scd2"
            )
        digest = hashlib.md5(f"{table}\n{moment}".encode(), usedforsecurity=False).hexdigest()
        self.connection.register(_STATE_TABLE + digest, rows)

    def _incomplete(self, sql: str) -> Iterator[LifeRecord]:
        """Yield the loaded tables that lack something and that a query names."""
        import duckdb

        records = () if self._loaded is None else self._loaded.state.records.values()
        lacking = [record for record in records if not record.is_accepted]
        if not lacking:
            return
        # Where there are views, DuckDB would name what they read.
        with duckdb.connect() as empty:
            try:
                named = _named_tables(empty, sql)
            except duckdb.Error:
                # Of a PIVOT, which is several statements to it, DuckDB names none.
                yield from lacking
                return
            for record in lacking:
                db, table = record.name
                views = (f"{DuckDb.name(db)}.{DuckDb.name(table + end)}" for end in ("", VERSIONS, HISTORY))
                if not named.isdisjoint(_named_tables(empty, f"FROM {', '.join(views)}")):
                    yield record

    def _run(self, sql: str) -> None:
        self.connection.execute(sql).fetchall()


class _ScannedTable:
    """A table that is read again by each scan."""

    def __init__(self, database: Database, schema: pa.Schema, batches: Batches) -> None:
        self._database = database
        self._schema = schema
        self._batches = batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._database.read(self._batches))
        return reader.__arrow_c_stream__(requested_schema)


def _replaced(
    result: duckdb.DuckDBPyRelation, kinds: Sequence[str], expression: str
) -> duckdb.DuckDBPyRelation:
    """Return a result whose columns of some types are replaced by an expression of them."""
    names = [DuckDb.name(n) for n, kind in zip(result.columns, result.types, strict=True) if kind in kinds]
    new = ", ".join(f"{expression.format(name)} AS {name}" for name in dict.fromkeys(names))
    return result.project(f"* REPLACE ({new})") if new else result


def _named_tables(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    """Return the tables that a query names, as DuckDB spells them."""
    names = connection.get_table_names(sql, qualified=True)
    plain = (name.partition(" AS ")[0].lower().removeprefix("memory.") for name in names)
    # Views whose names were taken end in underscores.
    return {name.rstrip("_") for name in plain}


def has_tables(path: str) -> bool:
    """Whether a path is a data set or loaded tables, and not binary logs."""
    if "://" not in path and not Path(path).is_dir():
        return False
    return is_data_set(path) or LakeStore(path).read(STATE) is not None


def query(sql: str, source: Source) -> pa.Table:
    """Answer a query with DuckDB, as ``binx query`` does; :meth:`Database.sql` says what may be raised."""
    with Database(source) as database:
        return database.batches(sql).read_all()
