"""Row changes as Tungsten's listing has them, and usual transactions whole, many at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from binx.export.changes import Frame, Selected
from binx.export.event_flags import event_flags
from binx.export.images import BatchImages, ChangeGroup, Images
from binx.export.misfits import with_misfits
from binx.export.parts import Part, Spelled, Spelling, columns
from binx.export.pieces import Changes, Piece, changes_of
from binx.export.thl_values import NULL, thl_values
from binx.kernels.heads import whole_transactions
from binx.kernels.thlheads import ThlHeads
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan
from binx.rows.batches import ChangeBatch
from binx.source.wording import encoded

EVENT_CLASS = "com.continuent.tungsten.replicator.event.ReplDBMSEvent"
"""What Tungsten calls the sort of its transactions; each names it."""

_FRAMED = 4096
"""Transactions whose heads are written at once."""

_STATEMENT = Spelled(Spelling.SPELL_STATEMENT, close=b") =\n")
_EVENT = Spelled(Spelling.SPELL_EVENT)
_ORDINAL = Spelled(Spelling.SPELL_ORDINAL, close=b"\n")


def thl_rows(changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
    """The row changes of a batch; a renderer for :func:`~binx.export.changes.ordered_changes`."""
    images = BatchImages(changes)
    positions = images.system("_position")
    assert positions is not None
    return changes_of(images, _BatchThl(images).row, events=(positions, event_flags(file, positions)))


class _BatchThl:
    """The row changes of one batch."""

    def __init__(self, images: BatchImages) -> None:
        self._images = images
        self._cache: dict[int, tuple[Spelled, ...]] = {}

    def row(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        """What the texts of a group's changes consist of."""
        table = self._images.changes.table
        about = f" - ACTION = {group.operation.upper()}\n - SCHEMA = {table.db}\n - TABLE = {table.name}\n"
        yield Part(b"- SQL(", _STATEMENT)
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


class ThlFrames:
    """What stands before the changes of transactions that are one fragment each.

    Args:
        limit: bytes of events at which a fragment ends.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heads = ThlHeads(f"]\n- TYPE = {EVENT_CLASS}\n".encode())
        self._scan: TransactionScan | None = None

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many as come; see :class:`~binx.export.changes.Frames`."""
        runs, stop = (piece.versions, piece.marks, piece.ends), min(stop, run + _FRAMED)
        count = whole_transactions(part.table, taken, first, *runs, run, stop, True, 0, True)
        if not count or not part.first_seqno:
            return None
        if self._scan is not part.scan:
            self._begin_file(part)
        count, ends, heads = self._heads.render(
            part.table, taken, first, count, part.first_seqno, self._limit
        )
        return Frame(count, ends, heads, b"") if count else None

    def _begin_file(self, part: Selected) -> None:
        scan = self._scan = part.scan

        def schema_of(number: int) -> bytes:
            db, _ = scan.table_name(number)
            return encoded(db)

        self._heads.begin_file(encoded(part.file.name), part.epoch, schema_of)


__all__ = ["EVENT_CLASS", "ThlFrames", "thl_rows"]
