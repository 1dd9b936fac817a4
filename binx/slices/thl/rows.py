"""Row changes as Tungsten's listing has them."""

from __future__ import annotations

from collections.abc import Iterator

from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.rows.parts import Part, Spelled, Spelling, columns
from binx.slices.misfits import with_misfits
from binx.slices.pieces import Changes, changes_of
from binx.slices.thl.values import NULL, thl_values
from binx.source.wording import encoded

EVENT_CLASS = "com.continuent.tungsten.replicator.event.ReplDBMSEvent"
"""What Tungsten calls the sort of its transactions; each names it."""

_EVENT = Spelled(Spelling.SPELL_EVENT)
_ORDINAL = Spelled(Spelling.SPELL_ORDINAL, close=b"\n")


def thl_rows(changes: ChangeBatch, _: BinlogFile) -> list[Changes]:
    """The row changes of a batch; a renderer for :func:`~binx.slices.changes.ordered_changes`."""
    images = BatchImages(changes)
    return changes_of(images, _BatchThl(images).row)


class _BatchThl:
    """The row changes of one batch."""

    def __init__(self, images: BatchImages) -> None:
        self._images = images
        self._cache: dict[int, tuple[Spelled, ...]] = {}

    def row(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        """What the texts of a group's changes consist of."""
        table = self._images.changes.table
        about = f" - ACTION = {group.operation.upper()}\n - SCHEMA = {table.db}\n - TABLE = {table.name}\n"
        yield Part(encoded(about), _EVENT)
        yield Part(b" - ROW# = ", _ORDINAL)
        for prefix, images in (("COL", group.after), ("KEY", group.before)):
            if images is not None:
                yield from self._values(prefix, images)

    def _values(self, prefix: str, images: Images) -> Iterator[bytes | Part]:
        for place in images.columns:
            lead = f"  - {prefix}({place + 1}: {self._images.columns[place].source_name}) = "
            yield from columns(encoded(lead), self._spelled(place), images.rows)
            yield b"\n"

    def _spelled(self, place: int) -> tuple[Spelled, ...]:
        found = self._cache.get(place)
        if found is None:
            column, values = self._images.columns[place], self._images.column(place)
            misfits = self._images.misfits.get(column.name)
            found = with_misfits(thl_values(values, column.type), values, misfits, NULL)
            self._cache[place] = found
        return found
