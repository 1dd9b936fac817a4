"""``binx erase``: remove all row images of the keys that match a condition.

Affected files are rewritten beside the old ones, the state is committed, and the old files are removed at
once. Later changes of these keys are loaded as usual, unless they are erased forever: then the state has a
digest of each key, and every load that brings rows of one erases these before it commits.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import AbsentError
from binx.lake.arrivals.repeats import EVENTS, events_of
from binx.lake.arrow.column_types import can_misfit
from binx.lake.arrow.conversions import converted
from binx.lake.arrow.images import counts, pairs_of
from binx.lake.arrow.keys import key_of, to_text
from binx.lake.arrow.matching import Numbers, matching_rows
from binx.lake.dataset.files import ChangesFile
from binx.lake.load_plan import forever_erased, key_called, lives_of
from binx.lake.place import LakeStore
from binx.lake.published.delta import publish
from binx.lake.published.views import write_views
from binx.lake.state.loaded_state import LifeState, RangeFile
from binx.lake.state.output_folder import Output
from binx.lake.table_name import TableName, listed_tables
from binx.lake.tables.lives import FileSpan, SchemaSpan, TableHistory
from binx.lake.tasks.image_sources import state_rows, unit_images
from binx.rows.columns.schema import folded_name
from binx.where.condition import Condition

_Key = tuple[Any, ...]
_MOST_DIGITS = 20
"""Of the longest integers that have a type, with a sign."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The result: the number of keys, and of rows for each kind of file."""

    keys: int
    history: int
    current: int
    scd2: int


@dataclass(frozen=True, slots=True)
class _ErasedKeys:
    """Keys that were erased forever: digests, by the columns that they are of and their salt."""

    digests: Mapping[tuple[tuple[int, ...], str], set[str]]

    @classmethod
    def of(cls, life: TableHistory, erasures: Iterable[Mapping[str, Any]]) -> Self:
        """Return those of a table, under all names that it had."""
        digests: dict[tuple[tuple[int, ...], str], set[str]] = defaultdict(set)
        for note in forever_erased(life, erasures):
            # Earlier versions did not note the columns.
            key = key_called(life, note["key"]) if note.get("key") else _key_columns(life.epochs[-1])
            if key is not None:
                digests[key, note["salt"]] |= {*note["keys"]}
        return cls(digests)

    def marks(self, rows: pa.Table, epoch: SchemaSpan) -> Numbers:
        """Return which rows have one of them."""
        marked = np.zeros(len(rows), bool)
        for (columns, salt), digests in self.digests.items():
            keys = _tuples(rows, replace(epoch, key=columns))
            marked |= np.array([_digest(salt, key) in digests for key in keys], bool)
        return marked


def _digest(salt: str, key: _Key) -> str:
    return hashlib.sha256(f"{salt}{key!r}".encode()).hexdigest()


def erase(
    path: str, table: str, condition: Condition, *, forever: bool = False, break_lock: bool = False
) -> Erased:
    """Erase all rows and row images of the keys that match a condition; ``forever``: later ones, too.

    Raises:
        AbsentError: there is no such table.
        BinxError: nothing was changed; the message has the reason.
    """
    output = Output(LakeStore(path))
    erasing = Erasing(output, table, condition, forever=forever)
    with output.locked(broken=break_lock):
        return erasing.run()


def erase_again(output: Output, new: Collection[str]) -> list[Erasing]:
    """Erase what new files of ``history/`` have of keys that were erased forever, to be committed with them.

    Args:
        output: the output, locked, with the state to commit.
        new: the paths of the files.

    Returns:
        What was done, which is to be settled after the commit.
    """
    done = []
    for life in lives_of(output.state):
        keys = _ErasedKeys.of(life, output.state.erasures)
        units = [unit for unit in life.units if unit.file.path in new] if keys.digests else []
        images = (
            _forward(life, images, unit.epoch)
            for unit in units
            for images in unit_images(unit, life.epochs[unit.epoch], output.place.uri)
        )
        if any(keys.marks(one, life.epochs[-1]).any() for one in images):
            erasing = Erasing(output, str(life.name or life.names[-1][1]), keys, forever=True)
            erasing.apply()
            done.append(erasing)
    return done


class Erasing:
    """The erasure of some keys of a table from an output that is locked."""

    def __init__(
        self,
        output: Output,
        table: str,
        chosen: Condition | _ErasedKeys,
        *,
        forever: bool,
    ) -> None:
        self._output, self._place, self._state = output, output.place, output.state
        self._chosen, self._forever = chosen, forever
        self._columns = [] if isinstance(chosen, _ErasedKeys) else sorted(chosen.columns)
        self._table = table
        self._events: set[tuple[str, str, str, str, int]] = set()
        self._known: set[_Key] = set()
        self._name = TableName.parse(table)
        # What was lost when another server took over is in history/, too.
        lives = {life.id: life for life in (*lives_of(self._state), *lives_of(self._state, with_lost=True))}
        self._lives = [
            life
            for life in lives.values()
            if life.name == self._name
            or (life.name is None and any(name == self._name for _, name in life.names))
        ]
        # A table that was there before may have had other columns.
        wanted = {*self._columns}
        self._lives = [
            life
            for life in self._lives
            if wanted <= {folded_name(column.name) for column in life.epochs[-1].columns}
        ] or self._lives
        if not self._state.version:
            raise AbsentError(
                "has no _state.json: expected the output of `binx load`", path=self._place.shown("")
            )
        output.folders |= {unit.file.table.folder for life in self._lives for unit in life.units}
        output.folders |= {own.folder for life in self._lives if (own := self._state.lives.get(life.id))}
        if not self._lives:
            names = [life.name for life in lives_of(self._state) if life.name is not None]
            raise AbsentError(
                f"there is no table {table}; there are {listed_tables(names, table)}",
                path=output.place.shown(""),
            )

    def run(self) -> Erased:
        """Erase and commit."""
        self._state.version += 1
        erased = self.apply()
        if not erased.keys:
            return erased
        self._output.commit(self._state)
        write_views(self._state, lives_of(self._state), self._place)
        if had_delta := self.settle():
            publish(self._state, self._place, had_delta)
        self._output.tidy()
        return erased

    def settle(self) -> list[str]:
        """Remove the files that have the rows, after the commit; return the folders that had Delta's logs."""
        self._place.remove(list(self._state.garbage))
        return [life.folder for life in self._state.lives.values() if self._drop_delta(life.folder)]

    def apply(self) -> Erased:
        """Erase in the state, which is not committed yet."""
        state = self._state
        self._output.begin()
        gone: set[_Key] = set()
        key_names: list[str] = []
        rows = {"history": 0, "current": 0, "scd2": 0}
        replaced: dict[str, ChangesFile] = {}
        for life in self._lives:
            own = state.lives.get(life.id)
            matching = self._matching(life, own)
            if not matching:
                continue
            gone |= matching
            last = life.epochs[-1]
            key_names = [last.column(number).name for number in _key_columns(last)]
            for path, file in {
                unit.file.path: unit.file for unit in life.units if not unit.file.gone
            }.items():
                before = replaced.get(path, file)
                replaced[path] = self._history(life, before, matching)
                rows["history"] += before.rows - replaced[path].rows
            if own is not None and own.catalog is not None and not isinstance(self._chosen, _ErasedKeys):
                # The next load makes the catalog's table again from history.
                state.lives[life.id] = replace(own.without_files(), digest="")
            elif own is not None and own.ranges:
                state.lives[life.id] = self._current(life, own, matching, rows)
        if not gone:
            return Erased(0, **rows)
        state.history = [replaced.get(file.path, file) for file in state.history]
        note = {"table": self._table, "load": state.version, "keys": len(gone), **rows}
        note |= {"columns": self._columns, "events": sorted(self._events)}
        if self._forever and (fresh := gone - self._known):
            # Of one salt, a load computes one digest of a row, however many keys were erased.
            salts = (own["salt"] for other in state.erasures if (own := other.get("forever")))
            salt = next(salts, None) or secrets.token_hex(16)
            digests = sorted(_digest(salt, key) for key in fresh)
            note["forever"] = {"salt": salt, "key": key_names, "keys": digests}
        state.erasures.append(note)
        return Erased(len(gone), **rows)

    def _matching(self, life: TableHistory, own: LifeState | None) -> set[_Key]:
        """Return the matching keys, and the keys that their rows moved to or from."""
        matching: set[_Key] = set()
        moves: list[tuple[_Key, _Key]] = []
        for unit in [unit for unit in life.units if not unit.file.gone]:
            for images in self._images(life, _whole(unit)):
                keys = _tuples(images, life.epochs[-1])
                matching |= {keys[row] for row in np.flatnonzero(self._marks(images, life.epochs[-1]))}
                afters = np.flatnonzero(pairs_of(images))
                moves += [
                    (keys[after - 1], keys[after]) for after in afters if keys[after - 1] != keys[after]
                ]
        if own is not None:
            for file in (*own.ranges, *own.versions):
                for rows in self._rows(life, own, file):
                    keys = _tuples(rows, life.epochs[-1])
                    matching |= {keys[row] for row in np.flatnonzero(self._marks(rows, life.epochs[-1]))}
        if isinstance(self._chosen, _ErasedKeys):
            self._known |= matching
        before = -1
        while before != len(matching):
            before = len(matching)
            matching |= {key for pair in moves if matching & set(pair) for key in pair}
        return matching

    def _images(self, life: TableHistory, unit: FileSpan) -> Iterator[pa.Table]:
        for images in unit_images(unit, life.epochs[unit.epoch], self._place.uri):
            yield _forward(life, images, unit.epoch)

    def _rows(self, life: TableHistory, own: LifeState, file: RangeFile) -> Iterator[pa.Table]:
        rows, _ = state_rows(self._place, [file.path], own.stored, own.stored)
        yield _forward(life, rows, own.epochs - 1)

    def _marks(self, rows: pa.Table, epoch: SchemaSpan) -> Numbers:
        if isinstance(self._chosen, _ErasedKeys):
            return self._chosen.marks(rows, epoch)
        return matching_rows(rows, epoch, self._chosen, self._table, self._place.shown(""))

    def _history(self, life: TableHistory, file: ChangesFile, erased: set[_Key]) -> ChangesFile:
        """Return the file without the rows of these keys; the same file if it has none of them."""
        rows = self._place.table(file.path)
        kept = np.ones(len(rows), bool)
        for unit in [
            _whole(replace(unit, file=file)) for unit in life.units if unit.file.identity == file.identity
        ]:
            places = np.flatnonzero(np.asarray(counts(rows.column("_commit_version"), unit).to_numpy(), bool))
            keys = [key for images in self._images(life, unit) for key in _tuples(images, life.epochs[-1])]
            kept[places] &= np.array([key not in erased for key in keys], bool)
        if kept.all():
            return file
        gone = events_of(rows.select(EVENTS).filter(pa.array(~kept)), file)
        self._events |= {(*file.table, file.chain, *event) for event in gone}
        path = f"{file.path.rpartition('/')[0]}/{uuid4().hex}.parquet"
        size = self._place.write(path, _filtered(rows, kept))
        return replace(file, path=path, rows=int(kept.sum()), bytes=size)

    def _current(
        self, life: TableHistory, own: LifeState, erased: set[_Key], rows: dict[str, int]
    ) -> LifeState:
        """Return a life's state without these keys."""
        rewritten = {}
        firsts: dict[str, pa.Table] = {}
        before = own.stored
        for file in (*own.ranges, *own.versions):
            kind = "current" if file in own.ranges else "scd2"
            [forward] = self._rows(life, own, file)
            kept = np.array([key not in erased for key in _tuples(forward, life.epochs[-1])], bool)
            rows[kind] += len(kept) - int(kept.sum())
            rewritten[file.path] = file if kept.all() else self._range(file, kept)
            plain, _ = state_rows(self._place, [rewritten[file.path].path], before, before)
            firsts[file.path] = key_of(plain, before).slice(0, 1)
        full = [index for index, file in enumerate(own.ranges) if rewritten[file.path].rows] or [0]
        begins = [firsts[own.ranges[index].path] for index in full[1:]]
        ranges = tuple(rewritten[own.ranges[index].path] for index in full)
        catalog = own.catalog
        if catalog is not None:
            catalog = replace(
                catalog,
                rows=catalog.rows + sum(file.rows for file in ranges) - sum(file.rows for file in own.ranges),
                unknown=catalog.unknown
                + sum(file.unknown for file in ranges)
                - sum(file.unknown for file in own.ranges),
            )
        return replace(
            own,
            catalog=catalog,
            ranges=ranges,
            lows=to_text(pa.concat_tables(begins).combine_chunks()) if begins else "",
            closed=tuple(rewritten[file.path] for file in own.closed if rewritten[file.path].rows),
            held=tuple(rewritten[own.held[index].path] for index in full) if own.held else (),
        )

    def _range(self, file: RangeFile, kept: Any) -> RangeFile:
        rows = _filtered(self._place.table(file.path), kept)
        path = f"{file.path.rpartition('/')[0]}/{uuid4().hex}.parquet"
        self._place.write(path, rows, store_schema=False)
        size = file.bytes * len(rows) // max(1, file.rows)
        deleted = pc.sum(rows.column("_deleted")).as_py() or 0 if "_deleted" in rows.column_names else 0
        return RangeFile(path, len(rows), size, len(rows) - rows.column("_unknown").null_count, deleted)

    def _drop_delta(self, folder: str) -> bool:
        """Remove Delta's logs, which contain minimum and maximum values of removed files."""
        paths = [
            file.path
            for kind in ("current", "scd2")
            for file in self._place.files(f"{folder}/{kind}/_delta_log", recursive=True)
        ]
        self._place.remove(paths)
        return bool(paths)


def _whole(unit: FileSpan) -> FileSpan:
    """Return a unit including rows of open XA transactions."""
    return replace(unit, excluded=())


def _filtered(rows: pa.Table, kept: Any) -> pa.Table:
    """Filter rows; values used only by removed rows also leave the dictionaries."""
    kept_rows = rows.filter(pa.array(kept))
    for index, field in enumerate(kept_rows.schema):
        if pa.types.is_dictionary(field.type):
            plain = kept_rows.column(index).cast(field.type.value_type)
            kept_rows = kept_rows.set_column(index, field, plain.dictionary_encode().cast(field.type))
    return kept_rows


def _forward(life: TableHistory, rows: pa.Table, epoch: int) -> pa.Table:
    """Return rows in the life's final columns."""
    for before, after in zip(life.epochs[epoch:], life.epochs[epoch + 1 :], strict=False):
        rows, _ = converted(rows, before, after)
    return rows


def _key_columns(epoch: SchemaSpan) -> tuple[int, ...]:
    """Return the columns that tell rows apart: without a key, all."""
    return epoch.key or tuple(column.id for column in epoch.columns)


def _tuples(rows: pa.Table, epoch: SchemaSpan) -> list[_Key]:
    """Return the keys of rows, as they stay where ALTER TABLE makes a type wider or a text."""
    columns = []
    for number in _key_columns(epoch):
        values = rows.column(f"v{number}")
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("us"))
        columns.append([_plain(value) for value in values.to_pylist()])
        if f"m{number}" in rows.column_names and can_misfit(epoch.column(number)):
            columns.append(rows.column(f"m{number}").to_pylist())
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    """Return a value as one of all types that have it; texts that spell a whole number alike are numbers."""
    if isinstance(value, Decimal):
        text = format(value, "f")
        value = text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, str):
        is_number = len(value) <= _MOST_DIGITS and value.isascii() and value.removeprefix("-").isdecimal()
        return int(value) if is_number and str(int(value)) == value else value
    is_whole = isinstance(value, (bool, float)) and float(value).is_integer()
    return int(value) if is_whole else value
