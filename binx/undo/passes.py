"""Further passes over logs: row changes of some tables, and rows that other transactions or keys changed.

An undo script does not find rows that were changed again by transactions that it does not undo. The keys of
undone rows are kept as text; a second pass looks for them in all other transactions.

A reversed binary log lacks rows that foreign keys changed without a log.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows_events import UNFOLLOWED
from binx.kernels.transactions.table import Kind
from binx.log.binlog_file import BinlogFile
from binx.log.selection.table_filter import XaEnds, xid_of
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, Images, columns_of
from binx.rows.columns.schema import folded_name
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import WITHOUT_ROWS, DecoderOptions
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, every_table
from binx.slices.search import Selected
from binx.slices.sql.compared_rows import key_texts
from binx.source.wording import listed
from binx.sql.session_settings import flagged_rows
from binx.sql.tables import SqlTable
from binx.undo.foreign_keys import (
    CASCADE,
    CHANGES_NOTHING,
    LISTED,
    Child,
    ForeignKeys,
    Name,
    gone_rows,
    listed_keys,
)
from binx.undo.names_today import NamesToday

MOST_KEYS = 2_000_000
"""Maximum number of keys kept per table; each takes about 30 bytes."""


def table_changes(
    selected: Iterable[Selected], catalog: Catalog, wanted: Callable[[str, str], bool]
) -> Iterator[tuple[ChangeBatch | Statement, BinlogFile]]:
    """Yield the row changes of some tables and all statements; each kind in log order."""
    options = DecoderOptions(arrow=ArrowOptions(raw_text=True, exact_values=True))
    reading = Reading(catalog, wanted, options)
    for part in selected:
        for item in reading.items(part.file, part.table, part.mask, after_damage=part.behind_damage):
            yield item, part.file
        for batch in reading.flush():
            yield batch, part.file


def changes_today(
    selected: Iterable[Selected], catalog: Catalog, names: Collection[Name] | None, today: NamesToday
) -> Iterator[ChangeBatch]:
    """Yield the row changes of some tables, or of all, under the names of today.

    Args:
        names: of today; None for all.
    """
    takes_all = names is None or today.has_renamed
    for item, _ in table_changes(selected, catalog, lambda *name: takes_all or name in (names or ())):
        batch = today.renamed(item) if isinstance(item, ChangeBatch) else None
        if batch is not None and (names is None or (batch.table.db, batch.table.name) in names):
            yield batch


def without_rolled_back(every: Callable[[], Iterable[Selected]]) -> Callable[[], Iterator[Selected]]:
    """Return an iterator over the same transactions, without the rows of rolled back XA transactions."""
    rolled_back: set[tuple[str, int]] | None = None

    def lasting() -> Iterator[Selected]:
        nonlocal rolled_back
        if rolled_back is None:
            rolled_back = _rolled_back(every())
        for part in every():
            for index in XaEnds.steps(part.table, part.mask) if rolled_back else ():
                if (part.file.path, part.table.value("start", index)) in rolled_back:
                    part.mask[index] = WITHOUT_ROWS
            yield part

    return lasting


def _rolled_back(selected: Iterable[Selected]) -> set[tuple[str, int]]:
    """Return file and offset of the XA PREPARE of transactions that were rolled back."""
    prepared: dict[str, tuple[str, int]] = {}
    rolled_back: set[tuple[str, int]] = set()
    for part in selected:
        for index in XaEnds.steps(part.table, part.mask):
            kind, xid = part.table.value("kind", index), xid_of(part.file, part.table, index)
            if kind == Kind.KIND_XA_PREPARE:
                prepared[xid] = part.file.path, part.table.value("start", index)
            elif (preparation := prepared.pop(xid, None)) is not None and kind == Kind.KIND_XA_ROLLBACK:
                rolled_back.add(preparation)
    return rolled_back


@dataclass(slots=True)
class _UndoneKeys:
    """The keys of a table's undone rows."""

    names: tuple[str, ...]
    batches: list[pa.Table] = field(default_factory=list)
    count: int = 0

    def first_changes(self) -> tuple[pa.Array, pa.Array]:
        """Return each key with the commit version of its first undone change."""
        first = pa.concat_tables(self.batches).group_by("key", use_threads=False)
        first = first.aggregate([("version", "min")])
        return first["key"].combine_chunks(), first["version_min"].combine_chunks()


@dataclass(slots=True)
class _Again:
    """The rows of a table that were changed again: their count, and the first of them."""

    count: int = 0
    rows: list[str] = field(default_factory=list)


class ChangedAgain:
    """Finds rows that were changed after an undone transaction by transactions that are not undone."""

    def __init__(self) -> None:
        self._keys: dict[Name, _UndoneKeys] = {}
        self._versions = array("q")

    def take_transaction(self, version: int) -> None:
        """Record the commit version of an undone transaction."""
        self._versions.append(version)

    def take(self, table: SqlTable, images: BatchImages) -> None:
        """Keep the keys of undone row changes."""
        if not table.key:
            return
        keys = self._keys.setdefault(table.logged, _UndoneKeys(_key_names(table)))
        for rows in _images_with_key(table, images):
            if keys.count < MOST_KEYS and keys.names == _key_names(table):
                keys.batches.append(_keys_of(table, images, rows).select(["key", "version"]))
                keys.count += len(keys.batches[-1])

    def warnings(
        self, all_transactions: Iterable[Selected], catalog: Catalog, today: NamesToday
    ) -> list[str]:
        """Return warnings about the rows that were changed again.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be decoded.
        """
        if not self._keys or not self._versions:
            return []
        found = self._found(all_transactions, catalog, today)
        sentences = [_sentence(name, again) for name, again in found.items()]
        unseen = [".".join(name) for name, keys in self._keys.items() if keys.count >= MOST_KEYS]
        if unseen:
            sentences.append(
                f"whether later transactions changed rows again is known only of {MOST_KEYS:,} rows of"
                f" {', '.join(unseen)}"
            )
        return sentences

    def _found(self, selected: Iterable[Selected], catalog: Catalog, today: NamesToday) -> dict[Name, _Again]:
        first_changes = {name: keys.first_changes() for name, keys in self._keys.items() if keys.batches}
        undone = pa.array(self._versions, pa.int64())
        changed_again: dict[Name, _Again] = {}
        tables: dict[int, tuple[object, SqlTable]] = {}
        for batch in changes_today(selected, catalog, first_changes, today):
            if id(batch.table) not in tables:
                tables[id(batch.table)] = batch.table, SqlTable(batch.table.resolved)
            table, images = tables[id(batch.table)][1], BatchImages(batch)
            name, names = table.logged, _key_names(table)
            sides = [_keys_of(table, images, rows) for rows in _images_with_key(table, images)]
            if not sides or names != self._keys[name].names:
                continue
            # Both images of an update may have the key.
            changes = _later(pa.concat_tables(sides), undone, *first_changes[name])
            if changes:
                again = changed_again.setdefault(name, _Again())
                again.count += len(changes)
                for key, transaction in changes[: LISTED - len(again.rows)]:
                    again.rows.append(f"{', '.join(names)}={key} in {transaction}")
        return changed_again


def _key_names(table: SqlTable) -> tuple[str, ...]:
    return tuple(table.columns[index].source_name for index in table.key)


def _images_with_key(table: SqlTable, images: BatchImages) -> Iterator[Images]:
    for group in images.groups():
        for side in (group.before, group.after):
            if side is not None and table.key and {*table.key} <= {*side.columns}:
                yield side


def _keys_of(table: SqlTable, images: BatchImages, rows: Images) -> pa.Table:
    """Return the keys of some rows as text, with their commit versions and transactions."""
    texts = key_texts(images, table.key, rows)
    versions = rows.pick(images.system("_commit_version"))
    transactions = rows.pick(images.system("_transaction"))
    return pa.table({"key": texts, "version": versions, "transaction": transactions})


def _later(keys: pa.Table, undone: pa.Array, known: pa.Array, first: pa.Array) -> list[tuple[str, str]]:
    """Return key and transaction of later changes of undone rows that are not undone themselves."""
    indexes = pc.index_in(keys["key"], value_set=known).combine_chunks()
    versions = keys["version"].combine_chunks()
    later = pc.fill_null(pc.greater(versions, first.take(indexes)), False)
    if not later.true_count:
        return []
    chosen = keys.filter(pc.and_(later, pc.invert(pc.is_in(versions, value_set=undone))))
    return [*dict.fromkeys(zip(chosen["key"].to_pylist(), chosen["transaction"].to_pylist(), strict=True))]


def _sentence(name: Name, again: _Again) -> str:
    return (
        f"{'.'.join(name)}: later transactions changed rows again that are to be undone, and the script will"
        f" not find those: {listed_keys(again.rows, again.count)}"
    )


_NAMES_SHOWN = 5


def lost_rows(selected: Iterable[Selected], catalog: Catalog, today: NamesToday) -> list[str]:
    """Return sentences on the tables of which a reversed log may lack rows that foreign keys changed.

    Which foreign keys refer to a table is known if its definition is.

    Args:
        selected: the transactions that the log undoes.
        catalog: the tables known before; follows the statements.
        today: the names at the end of the logs; a table that was dropped has lost nothing more.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    keys, lost, undefined = ForeignKeys(catalog), dict[tuple[Child, bool], int](), set[str]()
    for item, _ in table_changes(selected, catalog, every_table):
        if isinstance(item, Statement):
            continue
        resolved, images = item.table.resolved, BatchImages(item)
        if catalog.lookup(resolved.db, resolved.name) is None and _may_have_followers(images):
            undefined.add(f"{resolved.db}.{resolved.name}")
        for child in keys.to((resolved.db, resolved.name)):
            unknown = columns_of(images.columns, child.key.referenced) is None
            deletions = {True, False} if unknown else {gone.deleted for gone in gone_rows(child, images)}
            for deleted in deletions:
                _add_followers(lost, keys, child, deleted, item.versions[0])
    names = {today.name(child.name, version) for (child, _), version in lost.items()}
    sentences = [
        f"rows of {'.'.join(name)} that foreign keys deleted or changed are not in the log: they are not"
        " restored, except that ON UPDATE CASCADE changes them back; --format sql restores and checks them"
        for name in sorted(filter(None, names))
    ]
    if undefined:
        sentences.append(
            "rows that foreign keys deleted or changed are not restored; which ones refer to"
            f" {listed(sorted(undefined), _NAMES_SHOWN)}, the logs do not tell (give --schema)"
        )
    return sentences


def _may_have_followers(images: BatchImages) -> bool:
    """Return whether foreign keys may have followed updates or deletes without a log of it."""
    logged = flagged_rows(images, UNFOLLOWED)
    if logged is not None and logged.true_count == len(logged):
        return False
    return any(group.before is not None for group in images.groups())


def _add_followers(
    lost: dict[tuple[Child, bool], int], keys: ForeignKeys, child: Child, deleted: bool, version: int
) -> None:
    """Add a foreign key that follows deleted or changed rows, and those that follow its own rows."""
    action = child.key.on_delete if deleted else child.key.on_update
    if action == CHANGES_NOTHING or (child, deleted) in lost:
        return
    lost[child, deleted] = version
    goes = deleted and action == CASCADE
    changed = {folded_name(name) for name in child.key.columns}
    for further in keys.to(child.name):
        if goes or not changed.isdisjoint(folded_name(name) for name in further.key.referenced):
            _add_followers(lost, keys, further, goes, version)
