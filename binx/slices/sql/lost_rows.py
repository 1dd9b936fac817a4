"""Tables of which a reversed binary log lacks rows, because foreign keys changed them without a log."""

from __future__ import annotations

from collections.abc import Iterable

from binx.event.rows import UNFOLLOWED
from binx.rows.ddl.catalog import Catalog
from binx.rows.images import BatchImages
from binx.rows.statements import Statement
from binx.slices.changes import every_table
from binx.slices.search import Selected
from binx.slices.sql.foreign_keys import CASCADE, CHANGES_NOTHING, Child, ForeignKeys, columns_of, gone_rows
from binx.slices.sql.passes import table_changes
from binx.slices.sql.session import flagged_rows
from binx.source.wording import listed

_NAMES_SHOWN = 5


def lost_rows(selected: Iterable[Selected], catalog: Catalog) -> list[str]:
    """Return sentences on the tables of which a reversed log may lack rows that foreign keys changed.

    Which foreign keys refer to a table is known if its definition is.

    Args:
        selected: the transactions that the log undoes.
        catalog: the tables known before; follows the statements.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    keys, lost, undefined = ForeignKeys(catalog), set[tuple[Child, bool]](), set[str]()
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
                _add_followers(lost, keys, child, deleted)
    sentences = [
        f"rows of {'.'.join(name)} that foreign keys deleted or changed are not in the log: they are not"
        " restored, except that ON UPDATE CASCADE changes them back; --format sql restores and checks them"
        for name in sorted({child.name for child, _ in lost})
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


def _add_followers(lost: set[tuple[Child, bool]], keys: ForeignKeys, child: Child, deleted: bool) -> None:
    """Add a foreign key that follows deleted or changed rows, and those that follow its own rows."""
    action = child.key.on_delete if deleted else child.key.on_update
    if action == CHANGES_NOTHING or (child, deleted) in lost:
        return
    lost.add((child, deleted))
    goes = deleted and action == CASCADE
    changed = {name.casefold() for name in child.key.columns}
    for further in keys.to(child.name):
        if goes or not changed.isdisjoint(name.casefold() for name in further.key.referenced):
            _add_followers(lost, keys, further, goes)
