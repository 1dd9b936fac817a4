"""Trace tables and columns through statements and files: lives, epochs, and the rows of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from binx.lake.dataset.files import ChangesFile, Version, clipped
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.dataset.placement import PlacedBase
from binx.lake.dataset.spans import without
from binx.lake.dataset.statement_effects import RecordedStatement, second_table
from binx.lake.table_name import TableName
from binx.lake.tables.columns import (
    column_of,
    column_of_file,
    columns_after,
    epoch_of_file,
    is_repeated,
)
from binx.lake.tables.epochs import (
    Prepared,
    alike,
    confirmed,
    fit,
    follow_prepared,
    guessed,
    ids_of,
    is_nameless,
    key_of,
    shown_columns,
)
from binx.lake.tables.lacking import referred
from binx.lake.tables.lives import FileSpan, SchemaSpan, TableHistory

_PARTITIONS = "rows came or went with partitions, which is logged without rows"
_QUERIED = "it was made with rows of a query or a partition, which are not in the log"
_NAMELESS = "no log tells its columns or its key: export the logs together with those that define it"
_UNDEFINED = "a table definition in the log is not understood"
_PREPARED = "an XA transaction was prepared before the base and committed after it: its rows are not in it"
_GUESSED = (
    "may have other values, as its log was exported without the table's definition: export it with that, and"
    " load again"
)
_REPEATED = "two servers defined it, each by a statement of its own: the second one is left out"
_UNLOGGED = "columns changed without a statement in the logs"


@dataclass(frozen=True, slots=True)
class _Clip:
    """A part of a file between two statements about its table; ``alone`` if the file is not cut."""

    file: ChangesFile
    first: int
    last: int
    alone: bool


class Timeline:
    """Builds lives statement by statement."""

    def __init__(
        self,
        versions: Mapping[tuple[TableName, str], Version],
        ranks: Mapping[str, int],
        bases: Mapping[str, PlacedBase] | None = None,
    ) -> None:
        self.lives: list[TableHistory] = []
        self._versions = versions
        self._ranks = ranks
        self._bases = bases or {}
        self._names: dict[TableName, TableHistory] = {}
        self._ids: dict[str, int] = defaultdict(int)
        self._gone: set[TableName] = set()
        self._new_databases: set[str] = set()
        self._prepared = Prepared()
        self._now = 0

    @property
    def committed(self) -> Collection[tuple[str, int]]:
        """Prepared XA transactions that were committed, by chain and commit version."""
        return self._prepared.committed

    def trace(
        self, files: Sequence[ChangesFile], statements: Sequence[RecordedStatement]
    ) -> list[TableHistory]:
        """Return all lives, including dropped ones."""
        ordered = sorted(
            statements, key=lambda statement: (self._ranks[statement.chain], statement.scn, statement.ordinal)
        )
        self._prepared = follow_prepared(ordered)
        operations: list[tuple[ChangePosition, int, int, Any]] = []
        # At its position, a base comes after statements and before rows.
        for number, statement in enumerate(ordered):
            is_base = statement.chain in self._bases
            operations.append((self._place(statement.chain, statement.scn), int(is_base), number, statement))
        for number, clip in enumerate(self._clips(files, ordered)):
            is_base = clip.file.chain in self._bases
            operations.append((self._place(clip.file.chain, clip.first), 3 - is_base, number, clip))
        # Numbers differ, so that operations themselves are never compared.
        for position, _, _, operation in sorted(operations):
            if isinstance(operation, _Clip):
                self._take(operation, position)
            else:
                self._now = operation.committed
                for effect in operation.effects:
                    self._follow(effect, operation, position)
        for life in self.lives:
            if life.name is not None and life.reasons and not life.epochs:
                # No log tells its columns, but what it lacks.
                life.epochs.append(SchemaSpan(None, (), ()))
        return [life for life in self.lives if life.epochs]

    def _place(self, chain: str, scn: int) -> ChangePosition:
        """Return the position of a chain's commit version; a base has a single position."""
        base = self._bases.get(chain)
        return ChangePosition(self._ranks[chain], scn) if base is None else base.at

    def _clips(
        self, files: Iterable[ChangesFile], statements: Iterable[RecordedStatement]
    ) -> Iterable[_Clip]:
        """Yield the files, cut at statements about their tables."""
        cuts: dict[tuple[str, object], set[int]] = defaultdict(set)
        none: set[int] = set()
        for statement in statements:
            for effect in statement.effects:
                db, table = effect.get("db") or "", effect.get("table")
                base = self._bases.get(statement.chain)
                chain, scn = statement.chain, statement.scn
                if base is not None:
                    chain, scn = base.chain, base.at.scn + 1
                cuts[chain, db if table is None else TableName(db, table)].add(scn)
                if effect.get("new_table") is not None:
                    cuts[statement.chain, second_table(effect)].add(statement.scn)
        for file in files:
            listed = cuts.get((file.chain, file.table), none) | cuts.get((file.chain, file.table.db), none)
            inside = sorted(scn for scn in listed if file.first < scn <= file.last)
            bounds = [file.first, *inside, file.last + 1]
            for first, end in pairwise(bounds):
                yield _Clip(file, first, end - 1, alone=not inside)

    def _born(
        self, name: TableName, where: str, since: ChangePosition | None, *, whole: bool
    ) -> TableHistory:
        base = f"{name}@{where}"
        self._ids[base] += 1
        number = self._ids[base]
        life = TableHistory(base if number == 1 else f"{base}#{number}", name, whole, names=[(since, name)])
        self.lives.append(life)
        self._end(name)
        self._names[name] = life
        return life

    def _end(self, name: TableName) -> None:
        former = self._names.pop(name, None)
        self._gone.add(name)
        if former is not None:
            former.name = None
            former.left[name] = self._now

    def _is_held(self, name: TableName, statement: RecordedStatement) -> bool:
        """Whether the base that the table began with already includes a statement's effect on it."""
        base = self._names[name].base if name in self._names else None
        return base is not None and base.holds(statement.chain, statement.scn)

    def _life_of(self, name: TableName) -> TableHistory:
        """Return the life with this name; if there is none, the table is older than the logs."""
        return self._names.get(name) or self._born(name, "", None, whole=False)

    def _follow(
        self, effect: Mapping[str, Any], statement: RecordedStatement, position: ChangePosition
    ) -> None:
        where = f"{statement.chain}:{statement.scn}"
        db, table = effect.get("db") or "", effect.get("table")
        if table is None:
            self._follow_database(effect["action"], db)
            return
        name = TableName(db, table)
        if self._is_held(name, statement):
            return
        match effect["action"]:
            case "created":
                self._created(name, effect, statement, position)
            case "truncated":
                self._truncated(name, where, position)
            case "dropped":
                self._end(name)
            case "renamed":
                self._renamed(name, second_table(effect), position)
            case "altered":
                self._alter(self._life_of(name), effect, statement, position)
            case "partitions" | "rows_unlogged" | "not_understood":
                self._mark(effect, name, where)
        if name in self._names:
            life = self._names[name]
            life.parents |= set(referred(effect))

    def _follow_database(self, action: str, db: str) -> None:
        if action in ("created", "dropped"):
            self._new_databases.add(db)
        if action == "dropped":
            for name in [name for name in self._names if name.db == db]:
                self._end(name)

    def _truncated(self, name: TableName, where: str, position: ChangePosition) -> None:
        former = self._life_of(name)
        life = self._born(name, where, position, whole=True)
        life.parents, life.base, life.server = set(former.parents), former.base, former.server
        if former.epochs:
            life.epochs = [replace(former.epochs[-1], since=position, changes=())]
            life.last_id = former.last_id

    def _renamed(self, name: TableName, new: TableName, position: ChangePosition) -> None:
        life = self._life_of(name)
        del self._names[name]
        self._gone.add(name)
        self._end(new)
        life.name = new
        life.left[name] = self._now
        life.left.pop(new, None)
        life.names.append((position, new))
        for other in self.lives:
            other.parents |= {(new, column) for table, column in other.parents if table == name}
        self._names[new] = life

    def _created(
        self,
        name: TableName,
        effect: Mapping[str, Any],
        statement: RecordedStatement,
        position: ChangePosition,
    ) -> None:
        """Begin a table with a statement of a log or of a base.

        With IF NOT EXISTS, MySQL also logs the statement if the table is there: then the table may be older
        than the logs, unless they show that it was not there before.
        """
        former = self._names.get(name)
        if effect.get("if_not_exists") and former is not None:
            return
        base = self._bases.get(statement.chain)
        if former is not None and base is former.base is None and _is_of_another_server(former, statement):
            former.reasons.append(f"{statement.chain}:{statement.scn}: {_REPEATED}")
            return
        where = f"{statement.chain}:{statement.scn}" if base is None else statement.chain
        is_new = base is not None or statement.flavour != "mysql" or not effect.get("if_not_exists")
        is_new |= name in self._gone or name.db in self._new_databases
        life = self._born(name, where, position, whole=is_new)
        life.base = base
        life.server = _server(statement)
        if effect.get("from_query"):
            life.reasons.append(f"{where}: {_QUERIED}")
        if base is not None:
            life.reasons += [*base.doubts, *([_PREPARED] if self._is_across(base) else [])]
        self._define(life, effect, position)

    def _is_across(self, base: PlacedBase) -> bool:
        """Whether an XA transaction was prepared before a base and committed after it."""
        return any(
            self._place(*prepared) <= base.at < self._place(*committed)
            for prepared, committed in self._prepared.committed.items()
        )

    def _mark(self, effect: Mapping[str, Any], name: TableName, where: str) -> None:
        """Record why tables are incomplete."""
        if effect["action"] == "not_understood":
            self._life_of(name).reasons.append(f"{where}: {_UNDEFINED}: {effect.get('reason') or ''}")
            return
        if effect["action"] == "rows_unlogged":
            self._life_of(name).reasons.append(f"{where}: {effect['reason']}, which is logged without rows")
            return
        others = [] if effect.get("new_table") is None else [second_table(effect)]
        for table in [name, *others]:
            self._life_of(table).reasons.append(f"{where}: {_PARTITIONS}")

    def _define(self, life: TableHistory, effect: Mapping[str, Any], position: ChangePosition) -> None:
        """Begin a life with the statement's columns; if it has none, the life's first file provides them."""
        if effect.get("columns") is not None:
            columns = tuple(column_of(life, column) for column in effect["columns"])
            key = ids_of(columns, effect.get("key") or ())
            life.epochs.append(SchemaSpan(position, columns, key))

    def _alter(
        self,
        life: TableHistory,
        effect: Mapping[str, Any],
        statement: RecordedStatement,
        position: ChangePosition,
    ) -> None:
        if not life.epochs:
            self._define(life, effect, position)
            return
        if is_repeated(life, effect):
            life.reasons.append(f"{statement.chain}:{statement.scn}: {_REPEATED}")
            return
        last = life.epochs[-1]
        columns, changes = columns_after(life, effect)
        key = ids_of(columns, effect["key"]) if effect.get("key") is not None else last.key
        key = key if set(key) <= {column.id for column in columns} else ()
        is_computed = any(change.former is None or change.numbers for change in changes)
        if columns != last.columns or key != last.key or is_computed:
            life.epochs.append(SchemaSpan(position, columns, key, tuple(changes), statement.sql_mode))
        # Of a table that the exporter did not know, the effect does not tell FIRST and AFTER.
        clauses = {clause["action"] for clause in effect.get("changes") or ()}
        has_columns = effect.get("columns") is not None
        is_ordered = has_columns or (last.is_ordered and clauses.isdisjoint(("added", "retyped")))
        life.epochs[-1] = replace(life.epochs[-1], is_ordered=is_ordered)

    def _take(self, clip: _Clip, position: ChangePosition) -> None:
        """Assign the rows of a clip to the life that has the table's name here."""
        life = self._life_of(clip.file.table)
        file: ChangesFile | None = clip.file
        base = life.base
        if clip.file.chain in self._bases:
            # The base's rows precede all others of the life, regardless of their commit versions.
            position = ChangePosition(-1, clip.first)
        elif base is not None and clip.file.chain in base.held:
            spans = clip.file.spans or ((clip.first, clip.last),)
            left = [rest for span in spans for rest in without(span, base.held[clip.file.chain])]
            file = clipped(clip.file, left)
        if file is None:
            return
        version = self._versions[clip.file.table, clip.file.version]
        if not life.epochs:
            columns = tuple(column_of_file(life, column) for column in shown_columns(version))
            life.epochs.append(SchemaSpan(None, columns, key_of(version, columns)))
            if life.whole and is_nameless(version):
                life.reasons.append(_NAMELESS)
        ids = self._ids_in(life, version, clip, position)
        if ids is None:
            life.empty.append((clip.file, clip.first, clip.last))
            return
        for name in guessed(life.epochs[-1], version, ids):
            if (reason := f"{version.name}: {name} {_GUESSED}") not in life.reasons:
                life.reasons.append(reason)
        withheld = self._prepared.withheld_in(clip.file.chain, clip.first, clip.last)
        life.units.append(
            FileSpan(file, version, position, clip.first, clip.last, len(life.epochs) - 1, ids, withheld)
        )

    def _ids_in(
        self, life: TableHistory, version: Version, clip: _Clip, position: ChangePosition
    ) -> tuple[int, ...] | None:
        """Return the life's ids of a file's columns; None if the table had other columns there.

        If it has others without a statement, an epoch begins.
        """
        before = life.units[-1] if life.units and life.units[-1].epoch == len(life.epochs) - 1 else None
        if before is not None and before.version is version:
            return before.ids
        ids = fit(life.epochs[-1].columns, version)
        is_alike = ids is not None and alike(life.epochs[-1], version, ids)
        if not is_alike and not clip.alone:
            return None
        if ids is not None and before is None:
            life.epochs[-1] = confirmed(life.epochs[-1], version, ids)
        elif not is_alike:
            life.reasons.append(f"{version.name}: {_UNLOGGED}")
            life.epochs.append(epoch_of_file(life, version, position))
            ids = fit(life.epochs[-1].columns, version)
        assert ids is not None
        return ids


def _is_of_another_server(life: TableHistory, statement: RecordedStatement) -> bool:
    """Whether a table was created by a server with another id than the one that logged a statement."""
    return bool(life.server) and life.server != _server(statement)


def _server(statement: RecordedStatement) -> str:
    return statement.chain.partition(":")[0]
