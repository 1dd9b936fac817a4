"""Compute a table's rows at a moment from its changes in a data set, without Spark and without a load."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import AbsentError, BinxError, RefusedError, UsageError
from binx.lake.arrivals.arrivals import FileSearch, NewFiles, find_arrivals
from binx.lake.arrow.column_types import can_misfit, constant, output_names
from binx.lake.arrow.images import stored_rows
from binx.lake.arrow.matching import matching_rows
from binx.lake.completeness import MergedRows, losses_of_logs, record_of
from binx.lake.load_plan import check_key, comparison_of, lives_of
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import LifeState, Options, State
from binx.lake.table_name import TableName, UnknownTableError, listed_tables
from binx.lake.tables.definitions import NeededSequence, definition_of
from binx.lake.tables.lacking import (
    unlogged,
)
from binx.lake.tables.lives import TableColumn, TableHistory
from binx.lake.tasks.history import check_empty
from binx.lake.tasks.merge import Merge, MergeInput
from binx.rows.change_groups import ChangePlace
from binx.sql.create_table import Definition, create_sequence, quoted
from binx.where.comparison import STORABLE, clock
from binx.where.condition import Condition

_HELD_BYTES = 32 << 20
"""How much of row images is in memory before these are applied."""


class TableAt(NamedTuple):
    """A table at a moment (in words), with reasons why it may differ from the server's.

    Attributes:
        rows: the table's columns, then ``_commit_version`` and ``_commit_timestamp`` of the last change,
            ``_misfits`` if there may be any, and ``_unknown``, the columns that only the server knows.
        definition: what creates the table as it was then; None if the logs do not have it, or ``refused``.
        refused: why its definition cannot be written.
        generated: how columns are generated: ``virtual``, ``row_start`` and so on.
        columns: the table's columns, by their names in ``rows``.
        typed: whether JSON documents may have values of SQL types that their text does not tell.
    """

    name: TableName
    rows: pa.Table
    moment: str
    missing: list[str]
    definition: Definition | None
    refused: str
    generated: Mapping[str, str]
    key: tuple[str, ...]
    columns: Mapping[str, TableColumn]
    typed: bool = False

    def with_keys(self, keys: Iterable[Sequence[str]]) -> TableAt:
        """Return the same table with only the rows of some keys, given as texts.

        Raises:
            UsageError: a key lacks a value, or has one that its column cannot have.
        """
        wanted = {self._key_of(values) for values in keys}
        own = zip(*map(self._key_values, self.key), strict=True)
        return self._replace(rows=self.rows.filter(pa.array([key in wanted for key in own], pa.bool_())))

    def _key_values(self, name: str) -> list[Any]:
        """Return a column's values; of those that its type cannot hold, the texts."""
        values: list[Any] = self.rows.column(name).to_pylist()
        if "_misfits" not in self.rows.column_names:
            return values
        misfits = self.rows.column("_misfits").to_pylist()
        return [
            dict(texts).get(name) if value is None and texts else value
            for value, texts in zip(values, misfits, strict=True)
        ]

    def _key_of(self, values: Sequence[str]) -> tuple[Any, ...]:
        if len(values) != len(self.key):
            raise UsageError(f"expected a value for each of {', '.join(self.key)}, found {len(values)}")
        key: list[Any] = []
        for name, text in zip(self.key, values, strict=True):
            kind = self.rows.schema.field(name).type
            value = _span(text) if pa.types.is_duration(kind) else constant(text, kind)
            is_misfit = value is None and can_misfit(self.columns[name]) and STORABLE.fullmatch(text)
            if value is None and not is_misfit:
                raise UsageError(f"expected a value of the key's column {name}, found {text!r}")
            key.append(text if value is None else value.as_py())
        return tuple(key)


def _span(text: str) -> pa.Scalar | None:
    """Return a TIME, None for what is none."""
    try:
        return pa.scalar(clock(text), pa.duration("us"))
    except ValueError:
        return None


def table_at(
    lake: str,
    table: str,
    at: str | ChangePlace | None,
    keys: Sequence[str] = (),
    where: Condition | None = None,
    *,
    apart_from: Collection[int] = (),
    checked: Collection[TableName] = (),
) -> TableAt:
    """Return the rows of a table at a moment.

    Args:
        lake: a data set of ``to-parquet``: a folder or a URI.
        table: ``db.table``, by its name at that moment.
        at: a time, a GTID, FILE:POS or a change, as in :func:`~binx.lake.dataset.moments.moment_of`.
        keys: the key columns, for a table without a primary key.
        where: the condition that rows match, by the names and values of that moment; None for all.
        apart_from: commit versions of transactions; that foreign keys followed these without a log is no
            reason why the table is incomplete.
        checked: tables; that foreign keys to these changed rows without a log is no reason either.

    Raises:
        AbsentError: there is no such table, column, transaction or log.
        RefusedError: the table has no key, or several logs have the name.
        UsageError: ``at`` is not a valid moment, or the table has another key than the one given.
        BinxError: the data set cannot be read.
    """
    place, state = LakeStore(lake), State()
    name = TableName.parse(table)
    arrivals = find_arrivals(
        state, [place], place, FileSearch(name.__eq__, at=at, texts=True, apart_from=apart_from)
    )
    moment, ranks = arrivals.moment.text, state.ranks
    lives = lives_of(state, arrivals.files, keys={name: keys} if keys else {})
    life = next((life for life in lives if life.name == name), None)
    if arrivals.wrong:
        raise BinxError(next(iter(arrivals.wrong.values())), path=lake)
    if life is None:
        others = [life.name for life in lives if life.name]
        listed = f"; there are {listed_tables(others, table)}" if others else ""
        raise UnknownTableError(f"as of {moment} there is no table {table}{listed}", table).at(path=lake)
    _check_columns(life, table)
    if not life.epochs[-1].columns:
        raise RefusedError(f"the columns of {table} are not in the logs: {'; '.join(life.reasons)}")
    if keys:
        check_key(life, keys)
    if not life.epochs[-1].key:
        raise RefusedError(f"{table} has no primary key, by which rows are told apart: give one with --key")
    epochs = tuple(life.epochs)
    goal, last = LifeState(life.id, name, ""), len(epochs) - 1
    before = arrivals.moment.first_left_out
    units = tuple(replace(unit, before=before(unit.file.chain)) for unit in life.units)
    piece = MergeInput(
        goal, place.uri, Options(held_bytes=_HELD_BYTES), epochs, 0, last, epochs[0], units=units,
        comparison=comparison_of(life),
    )  # fmt: skip
    merge = Merge(piece)
    try:
        rows, lost = merge.rows()
    except pa.ArrowException as error:
        raise BinxError(
            f"the rows of {table} do not fit its definition: export all logs about it together or with"
            f" --schema ({str(error).splitlines()[0]})",
            path=lake,
        ) from error
    epoch = epochs[-1]
    if where is not None:
        rows = rows.filter(pa.array(matching_rows(rows, epoch, where, table, lake)))
    names = output_names(epoch.columns)
    stored = stored_rows(rows, epoch, names, misfits=any(map(can_misfit, epoch.columns)))
    followed = unlogged(lives, arrivals.causes, life.id, checked).get(life.id)
    unknown = len(stored) - stored.column("_unknown").null_count
    merged = MergedRows(lost, merge.differing, unknown)
    missing = record_of(life, state, losses_of_logs(state, arrivals.moment.last), merged, followed).sentences
    own_names = [column.name for column in epoch.columns]
    definition, refused, needed = definition_of(name, own_names, arrivals.texts, ranks)
    if definition is not None and needed:
        try:
            made = tuple(text for sequence in needed for text in _sequence(lake, at, sequence))
            definition = definition._replace(sequences=made)
        except RefusedError as error:
            definition, refused = None, str(error)
    key = tuple(names[number] for number in epoch.key)
    columns = {names[column.id]: column for column in epoch.columns}
    typed = _has_typed_documents(life, arrivals)
    return TableAt(
        name, stored, moment, missing, definition, refused, _generated(life, names), key, columns, typed
    )


def _check_columns(life: TableHistory, table: str) -> None:
    """Check that all rows have columns that statements gave the table.

    Raises:
        RefusedError: some have others.
    """
    for file, first, last in life.empty:
        with LakeStore(file.root).reading(file.path) as opened:
            scns = opened.read(columns=["_commit_version"]).column(0)
        try:
            check_empty(scns, [(first, last)])
        except BinxError as error:
            raise RefusedError(
                f"columns of {table} changed without a statement in the logs: {file.path}: {error.message}"
            ) from None


def _has_typed_documents(life: TableHistory, arrivals: NewFiles) -> bool:
    names = {name for _, name in life.names}
    is_json = any(column.mysql_type.lower() == "json" for column in life.epochs[-1].columns)
    return is_json and any(not names.isdisjoint(manifest.typed) for manifest, _ in arrivals.logs)


def _generated(life: TableHistory, names: Mapping[int, str]) -> dict[str, str]:
    """Return how columns are generated, by their names in the rows."""
    facts = {
        number: column.generated
        for unit in life.units
        for number, column in zip(unit.ids, unit.version.columns, strict=True)
    }
    return {name: facts[number] for number, name in names.items() if facts.get(number)}


def _sequence(lake: str, at: str | ChangePlace | None, needed: NeededSequence) -> Iterator[str]:
    """Yield the statements that make a sequence, and take the values that were taken at the moment.

    Raises:
        RefusedError: its definition is not known.
    """
    if needed.definition is None:
        raise RefusedError(
            f"a default takes values of {needed.name}, whose CREATE SEQUENCE is not in the logs"
        )
    yield create_sequence(needed.definition)
    options = dict(needed.definition.options)
    name = quoted(needed.definition)
    try:
        # Each value that was taken is a row.
        rows = table_at(lake, str(needed.name), at, ["next_not_cached_value"]).rows
    except AbsentError:
        rows = None
    version = None if rows is None else pc.max(rows["_commit_version"]).as_py()
    if rows is not None and version is not None and version > needed.restarted:
        last = rows.filter(pc.equal(rows["_commit_version"], version)).to_pylist()
        descends = options.get("INCREMENT BY", "").startswith("-")
        row = (min if descends else max)(last, key=itemgetter("next_not_cached_value"))
        yield f"DO SETVAL({name}, {row['next_not_cached_value']}, 0, {row['cycle_count'] or 0})"
    elif needed.restarted:
        yield f"DO SETVAL({name}, {options['RESTART'] or options['START WITH']}, 0)"
