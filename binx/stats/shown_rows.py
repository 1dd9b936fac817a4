"""Row changes as lines for people, whole columns at a time: names, values, what updates changed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.rows.parts import Part, Spelled, Spelling
from binx.slices.changed import changed_values
from binx.slices.json_values import plain_json
from binx.slices.misfits import with_misfits
from binx.slices.pieces import Changes, changes_of
from binx.slices.texts import TEXT, per_distinct
from binx.source.wording import encoded
from binx.stats.row_text import ARROW, CHANGED, INDENT, OPERATIONS, difference_text, padded_names
from binx.stats.shown_values import NULL, shown_values
from binx.stats.text import safe_text


def shown_rows(changes: ChangeBatch, _: BinlogFile) -> list[Changes]:
    """The row changes of a batch; a renderer for :func:`~binx.slices.changes.ordered_changes`."""
    images = BatchImages(changes)
    return changes_of(images, _BatchLines(images).lines)


class _BatchLines:
    """The row changes of one batch."""

    def __init__(self, images: BatchImages) -> None:
        self._images = images
        self._cache: dict[int, tuple[Spelled, ...]] = {}

    def lines(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        """What the texts of a group's changes consist of."""
        table = self._images.changes.table
        yield encoded(
            f"{INDENT}{OPERATIONS[group.operation]} {safe_text(table.db)}.{safe_text(table.name)}\n"
        )
        before, after = group.before, group.after
        sides = [side.columns for side in (before, after) if side is not None]
        places = list(dict.fromkeys(place for side in sides for place in side))
        columns = self._images.columns
        padded = padded_names([columns[place].source_name for place in places])
        for place in places:
            name = padded[columns[place].source_name]
            if before is None or after is None:
                yield from self._value(f"{INDENT}  {name}  ", place, group.images)
            elif place not in after.columns:
                yield from self._value(f"{INDENT}  {name}  ", place, before)
            elif place not in before.columns:
                yield from self._value(f"{CHANGED}{name}  {ARROW.lstrip()}", place, after)
            else:
                yield from self._update(name, place, before, after)
            yield b"\n"
        if before is not None and after is not None:
            yield from self._differences(after)

    def _update(self, name: str, place: int, before: Images, after: Images) -> Iterator[Part]:
        """A column that updates changed, or did not."""
        which = changed_values(self._images, place, before, after)
        count = which.true_count
        if count < len(which):
            mask = pc.invert(which) if count else None
            yield from self._value(f"{INDENT}  {name}  ", place, after, mask)
        if count:
            mask = which if count < len(which) else None
            yield from self._value(f"{CHANGED}{name}  ", place, before, mask)
            yield from self._value(ARROW, place, after, mask)

    def _value(
        self, lead: str, place: int, images: Images, mask: pa.BooleanArray | None = None
    ) -> Iterator[Part]:
        for number, spelled in enumerate(self._spelled(place)):
            yield Part(b"" if number else encoded(lead), spelled, images.rows, mask)

    def _spelled(self, place: int) -> tuple[Spelled, ...]:
        found = self._cache.get(place)
        if found is None:
            column, values = self._images.columns[place], self._images.column(place)
            found = shown_values(values, column.type)
            misfits = self._images.misfits.get(column.name)
            if misfits is not None:
                texts = [(row, safe_text(plain_json(text))) for row, text in misfits]
                found = with_misfits(found, values, texts, NULL)
            self._cache[place] = found
        return found

    def _differences(self, after: Images) -> Iterator[Part]:
        column = self._images.system("_json_diff")
        if column is not None and column.null_count < len(column):
            texts = per_distinct(column.cast(TEXT), _difference_lines)
            yield Part(b"", Spelled(Spelling.SPELL_TEXT, texts), after.rows)


def _difference_lines(text: bytes | None) -> bytes | None:
    """Lines of the columns of which only parts were logged."""
    if text is None:
        return None
    lines = (
        f"{CHANGED}{safe_text(name)}  {ARROW.lstrip()}{difference_text(operations)}\n"
        for name, operations in json.loads(text).items()
    )
    return encoded("".join(lines))
