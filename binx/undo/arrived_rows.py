"""Rows that refer to rows whose insert is to be undone: foreign keys would delete or change them, too.

A reversed binary log deletes inserted rows without looking for others that refer to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, Images, columns_of
from binx.rows.ddl.catalog import Catalog
from binx.slices.search import Selected
from binx.slices.sql.compared_rows import key_texts
from binx.sql.tables import SqlTable
from binx.undo.foreign_keys import CHANGES_NOTHING, Child, Name
from binx.undo.names_today import NamesToday
from binx.undo.obstacles import Obstacles
from binx.undo.passes import changes_today


def refuse_arrived_rows(
    selected: Callable[[], Iterable[Selected]],
    every: Callable[[], Iterable[Selected]],
    catalog: Catalog,
    today: NamesToday,
    obstacles: Obstacles,
) -> None:
    """Record rows that other transactions of the logs made refer to rows that the undo deletes.

    Args:
        selected: the transactions that are undone.
        every: all transactions of the logs.
        catalog: the tables known before the first log.
        today: the names of tables at the end of the logs, with their foreign keys.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    if not any(definition.foreign_keys for definition in today.catalog):
        return
    values, undone = defaultdict[Child, _Values](_Values), set[int]()
    for batch in changes_today(selected(), catalog.copy(), None, today):
        images = BatchImages(batch)
        undone.update(images.integers("_commit_version").cast("q"))
        for child in today.keys.to((batch.table.db, batch.table.name)):
            values[child].take(child, images)
    going_values = {child: going for child, value in values.items() if (going := value.going(child))}

    def changes(names: set[Name]) -> Iterator[ChangeBatch]:
        return changes_today(every() if names else (), catalog.copy(), names, today)

    staying: dict[Child, set[str | None]] = {child: set() for child in going_values if child.compares_text}
    for batch in changes({child.parent for child in staying}):
        images, name = BatchImages(batch), (batch.table.db, batch.table.name)
        for child, texts in staying.items():
            for group in images.groups() if child.parent == name else ():
                texts.update(_texts(child.key.referenced, images, group.images))
    arrived = _Arrived(going_values, staying, undone)
    for batch in changes({child.name for child in going_values}):
        arrived.take(SqlTable(batch.table.resolved), BatchImages(batch))
    for name, rows in arrived.rows.items():
        obstacles.add(
            f"rows of {'.'.join(name)} came since that refer to rows to be undone{arrived.doubt(name)}, and"
            " would go or change with them (undo these transactions too; --format sql finds such rows as it"
            " runs)",
            [*rows.values()],
            len(rows),
        )


class _Values:
    """How undone changes made the values that rows refer to: by an insert, an update, or not at all."""

    def __init__(self) -> None:
        self._inserted: dict[str, int] = {}
        self._updated: dict[str, int] = {}
        self._seen: set[str] = set()

    def take(self, child: Child, images: BatchImages) -> None:
        """Follow the referenced rows through a batch of changes."""
        steps: list[tuple[int, int, str | None, str | None]] = []
        for group in images.groups():
            sides = [
                [None] * images.size_of(group.images)
                if side is None
                else _texts(child.key.referenced, images, side)
                for side in (group.before, group.after)
            ]
            places = images.places(group.images)
            steps += [(*place, *texts) for place, *texts in zip(places, *sides, strict=True)]
        for version, _, before, after in sorted(steps, key=lambda step: step[:2]):
            if before is not None:
                self._seen.add(before)
            if after is not None and after not in self._seen:
                self._seen.add(after)
                made = self._inserted if before is None or before in self._inserted else self._updated
                made[after] = version

    def going(self, child: Child) -> dict[str, int]:
        """Return the values whose undoing deletes or changes rows, with the versions that made them."""
        going = {} if child.key.on_delete == CHANGES_NOTHING else self._inserted
        return going | self._updated if child.key.on_update == "SET NULL" else going


class _Arrived:
    """The rows, by table and key, with the transaction that made each refer to a row that goes.

    Args:
        staying: of foreign keys over text, the values in images of the referenced table: a text that is none
            of these may refer to a row that goes, as its collation may ignore case, accents and spaces.
    """

    def __init__(
        self, going: dict[Child, dict[str, int]], staying: dict[Child, set[str | None]], undone: set[int]
    ) -> None:
        self.going = going
        self._staying = staying
        self.rows: dict[Name, dict[str, str]] = defaultdict(dict)
        self._undone = undone

    def doubt(self, name: Name) -> str:
        """Return words for tables of which only a collation tells whether rows refer to others."""
        return " or may do so" if any(child.name == name for child in self._staying) else ""

    def take(self, table: SqlTable, images: BatchImages) -> None:
        """Follow the rows of a table through a batch of changes."""
        steps: list[tuple[int, int, int, str, str, bool]] = []
        for group in images.groups():
            for number, side in enumerate((group.before, group.after)):
                if side is not None:
                    steps += self._steps(table, images, side, number)
        rows = self.rows[table.logged]
        for version, _, number, key, transaction, refers in sorted(steps):
            if version in self._undone:
                continue
            if number and refers:
                rows[key] = transaction
            else:
                rows.pop(key, None)
        if not rows:
            del self.rows[table.logged]

    def _steps(
        self, table: SqlTable, images: BatchImages, side: Images, number: int
    ) -> Iterable[tuple[int, int, int, str, str, bool]]:
        places = images.places(side)
        refers = [False] * len(places)
        for child, values in self.going.items():
            if child.name == table.logged:
                texts, staying = _texts(child.key.columns, images, side), self._staying.get(child)
                for at, (place, text) in enumerate(zip(places, texts, strict=True)):
                    if text is not None:
                        other = staying is None or text in staying
                        made = values.get(text, place.version if other else min(values.values()))
                        refers[at] |= made < place.version
        columns = table.key if {*table.key} <= {*side.columns} else ()
        # A row without a key is one of its own, and stays.
        keys = key_texts(images, columns, side).to_pylist() if columns else [f"{place}" for place in places]
        transactions = side.pick(images.system("_transaction")).to_pylist()
        for place, key, transaction, refer in zip(places, keys, transactions, refers, strict=True):
            yield place.version, place.row, number, key, transaction, refer


def _texts(names: Iterable[str], images: BatchImages, side: Images) -> list[str | None]:
    """Return the values by which rows refer, or are referred to; None where there is none."""
    columns = columns_of(images.columns, names)
    if columns is None or not {*columns} <= {*side.columns}:
        return [None] * images.size_of(side)
    return [*key_texts(images, columns, side).to_pylist()]
