"""Read a data set as it grows, in steps: the row changes of its tables, and its statements and transactions.

An offset says how far each export is read. What arrives later, in new exports or in ones that were made again
of a log that had grown, is read in the next step: whole transactions, each once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from binx.errors import AbsentError, BinxError
from binx.lake.arrivals.arrivals import FileSearch, find_arrivals
from binx.lake.load_plan import lives_of
from binx.lake.place import LakeStore
from binx.lake.published.views import ViewPart
from binx.lake.state.loaded_state import State
from binx.lake.table_at_moment import row_texts
from binx.lake.table_changes import SYSTEM, batches_of, fact_batches, fact_schema, united_parts
from binx.lake.table_name import TableName, filter_of, listed_tables
from binx.lake.tables.lives import FileSpan, TableColumn, TableHistory
from binx.sql.values import JsonValues, plain_json

CHANGES = "changes"
TABLE, ROW = "_table", "row"
"""Columns of changes of several tables: the table's name, and its columns as a JSON object."""

_MANY = {TABLE: pa.string(), **SYSTEM, ROW: pa.string()}


@dataclass(frozen=True, slots=True)
class DataSetRequest:
    """What to read of a data set.

    ``what`` is ``changes``, ``statements`` or ``transactions``; changes are those of one ``table``, or of all
    that the patterns ``tables`` take.
    """

    path: str
    what: str = CHANGES
    table: TableName | None = None
    tables: tuple[str, ...] = ()

    def wants(self, name: TableName) -> bool:
        """Whether changes of a table are read."""
        return name == self.table if self.table is not None else filter_of((), self.tables).takes(*name)


@dataclass(slots=True)
class DataSetOffset:
    """How far a data set is read.

    Attributes:
        read: the last commit version that is read of each export.
        withheld: by export, transactions before that which were left out, as they were prepared only.
    """

    read: dict[str, int] = field(default_factory=dict)
    withheld: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilePart:
    """What a task reads: rows of one file, with the names that columns have in the united table.

    ``unit`` and ``part`` are of a file of changes, ``span`` of one of statements or transactions.
    """

    path: str
    bytes: int
    name: TableName | None = None
    unit: FileSpan | None = None
    part: ViewPart | None = None
    names: tuple[tuple[str, str, pa.DataType], ...] = ()
    span: tuple[int, int] = (0, 0)


class Follower:
    """Reads a data set in steps; each costs what is new in it."""

    def __init__(self, request: DataSetRequest) -> None:
        self._request, self._place, self._state = request, LakeStore(request.path), State()
        self._exports: dict[str, str] = {}
        self._facts: dict[str, list[str]] = defaultdict(list)
        self._last: dict[str, int] = {}
        self._lives: list[TableHistory] = []
        self._tables: set[TableName] = set()

    def schema(self) -> pa.Schema:
        """Return the columns of what is read.

        Raises:
            AbsentError: the data set has no such table.
        """
        request = self._request
        if request.what != CHANGES:
            return fact_schema(request.what)
        if request.table is None:
            return pa.schema(_MANY)
        self._refresh()
        if request.table not in self._tables:
            listed = listed_tables(self._tables, str(request.table))
            raise AbsentError(
                f"{request.table} is not among the tables of the data set, which are {listed}",
                path=request.path,
            )
        columns = united_parts(request.table, self._lives)[1]
        return pa.schema([*SYSTEM.items(), *((column.name, column.type) for column in columns)])

    def latest(self) -> DataSetOffset:
        """Return how far the data set can be read now."""
        self._refresh()
        withheld: dict[str, set[int]] = defaultdict(set)
        for unit in (unit for life in self._lives for unit in life.units if unit.excluded):
            withheld[self._exports[unit.file.path]] |= set(unit.excluded)
        return DataSetOffset(dict(self._last), {name: sorted(scns) for name, scns in withheld.items()})

    def between(self, start: DataSetOffset, end: DataSetOffset) -> list[FilePart]:
        """Return what there is between two offsets.

        Raises:
            AbsentError: an export that the end names is no longer there.
        """
        if not end.read.keys() <= self._last.keys():
            self._refresh()
        if gone := sorted(end.read.keys() - self._last.keys() - start.read.keys()):
            raise AbsentError(
                f"the export {gone[0]} was there when the step was planned, and is not any more",
                path=self._request.path,
            )
        if self._request.what != CHANGES:
            return [
                FilePart(path, 1 << 20, span=(start.read.get(name, -1) + 1, last))
                for name, last in end.read.items()
                if last > start.read.get(name, -1)
                for path in self._facts[name]
            ]
        own = self._request.table
        names = sorted(self._tables) if own is None else [own]
        return [part for name in names if self._request.wants(name) for part in self._of(name, start, end)]

    def _of(self, name: TableName, start: DataSetOffset, end: DataSetOffset) -> Iterator[FilePart]:
        parts, columns = united_parts(name, self._lives)
        for number, part in enumerate(parts):
            names = tuple(
                (column.name, *column.names[number]) for column in columns if number in column.names
            )
            for unit in part.units:
                for left in self._left(unit, start, end):
                    whole = part.is_whole and left == unit
                    file = replace(left.file, root=self._place.uri)
                    own = replace(left, file=file)
                    alone = part._replace(units=(own,), is_whole=whole)
                    yield FilePart(file.path, file.bytes, name, own, alone, names)

    def _left(self, unit: FileSpan, start: DataSetOffset, end: DataSetOffset) -> Iterator[FileSpan]:
        """Yield what of a unit is between two offsets."""
        export = self._exports[unit.file.path]
        first = max(unit.first, start.read.get(export, -1) + 1)
        last = min(unit.last, end.read.get(export, -1))
        withheld = set(end.withheld.get(export, ()))
        if first <= last:
            excluded = tuple(sorted({*unit.excluded, *(one for one in withheld if first <= one <= last)}))
            yield replace(unit, first=first, last=last, excluded=excluded)
        for scn in set(start.withheld.get(export, ())) - withheld - set(unit.excluded):
            if unit.first <= scn <= unit.last:
                yield replace(unit, first=scn, last=scn, excluded=())

    def _refresh(self) -> None:
        """Read the manifests that are new."""
        state, request = self._state, self._request
        arrivals = find_arrivals(state, [self._place], self._place, FileSearch(request.wants))
        if arrivals.wrong:
            raise BinxError(next(iter(arrivals.wrong.values())), path=request.path)
        for manifest, _ in arrivals.logs:
            export = manifest.listed.path.rpartition("/")[2].removesuffix(".json")
            self._exports |= {file.path: export for file in manifest.changes}
            if request.what != CHANGES:
                self._facts[export] = list(manifest.others.get(request.what, ()))
            if manifest.span is not None:
                self._last[export] = max(manifest.span[1], self._last.get(export, -1))
        if not arrivals.new_manifests and self._lives:
            return
        # Files of a data set are read where they are, as those of a load's history.
        state.history += [replace(file, root="") for file in arrivals.files]
        state.waiting = [one for one in state.waiting if not arrivals.wanted(one.file.table)]
        state.version = 1
        self._lives = lives_of(state, keys={})
        self._tables |= arrivals.tables | {life.name for life in self._lives if life.name}


def read_part(request: DataSetRequest, part: FilePart) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part, with the columns of :meth:`Follower.schema` that the part has."""
    if part.unit is None or part.part is None or part.name is None:
        yield from fact_batches(LakeStore(request.path), part.path, request.what, part.span)
        return
    own = {name: source for name, source, _ in part.names}
    schema = pa.schema([*SYSTEM.items(), *((name, kind) for name, _, kind in part.names)])
    for batch in batches_of(part.unit, part.part, own, schema):
        if request.table is not None:
            yield batch
            continue
        heads = {TABLE: pa.repeat(pa.scalar(str(part.name)), len(batch))}
        heads |= {name: batch.column(name) for name in SYSTEM}
        yield pa.RecordBatch.from_pydict({**heads, ROW: _objects(batch, part)})


def _objects(batch: pa.RecordBatch, part: FilePart) -> pa.Array:
    """Return the table's columns of each row as a JSON object."""
    assert part.part is not None
    versions = {column.name: column for column in part.part.version.columns}
    columns = {}
    for number, (name, source, _) in enumerate(part.names):
        column = versions[source]
        columns[name] = TableColumn(number, name, column.arrow_type, column.mysql_type, column.charset)
    texts = {name: plain_json(name).encode() for name in columns}
    between = [b"{" if number == 0 else b"," for number in range(len(columns))]
    befores = [head + texts[name] + b":" for head, name in zip(between, columns, strict=True)]
    shown = {source: name for name, source, _ in part.names}
    rows = pa.table(batch)
    written = b"".join(row_texts(rows, columns, JsonValues(), befores, b"}\n", renamed=shown))
    lines: list[Any] = written.split(b"\n")[:-1] if columns else [b"{}"] * len(batch)
    return pa.array(lines, pa.binary()).cast(pa.string())


def offset_of(document: Mapping[str, Any]) -> DataSetOffset:
    """Return an offset from the JSON that it is kept as; an empty object is the beginning."""
    return DataSetOffset(dict(document.get("read", {})), dict(document.get("withheld", {})))
