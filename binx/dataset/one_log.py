"""The task of an export: one log of a chain, and all that it must know of those before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.chain import ChainState, Place, Staged, packed, unpacked
from binx.dataset.dataset import DataSet, Transaction
from binx.dataset.log_export import ExportContext, LogExport
from binx.dataset.options import ParquetOptions
from binx.event.gtid.sets import GtidSet
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection, Selector

if TYPE_CHECKING:
    from binx.where.rows import RowFilter


class Request(NamedTuple):
    """What is asked of all logs of an export."""

    selection: Selection
    names: tuple[str, ...]
    options: ParquetOptions

    def row_filter(self, place: Place) -> RowFilter | None:
        """What takes out row changes of the log at a place; None for nothing."""
        options = self.options
        if options.where is None:
            return None
        from binx.where.rows import RowFilter

        takes_table = Selector(self.selection, self.names, in_parts=True).takes_table
        return RowFilter(
            options.where, unpacked(place.tables), takes_table, options.where_limit, in_parts=True
        )


class ExportedLog(NamedTuple):
    """A log that is written, and not committed yet.

    Attributes:
        staged: what is to be committed; None where nothing was written.
        kept: the manifest of before, where the same request wrote the log already.
        found: the GTIDs asked for that are in it.
        notes: how positions were understood.
        behind: where the next log stands, if that was to be known.
    """

    staged: Staged | None
    kept: dict[str, Any] | None
    found: GtidSet
    notes: tuple[str, ...]
    behind: Place

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest that is to be committed, or was before."""
        return (self.kept or {}) if self.staged is None else self.staged.manifest


def export_log(
    dataset: DataSet,
    request: Request,
    file: BinlogFile,
    place: Place,
    begin: Callable[[str], Transaction],
    progress: Callable[[int], None],
    *,
    row_filter: RowFilter | None = None,
    needs_behind: bool = True,
    has_thread: bool = False,
) -> ExportedLog:
    """Decode a log and write its files, for whoever commits them.

    Args:
        progress: called with the offset that is reached, now and then; what it raises ends the export.
        row_filter: takes out row changes by what they hold; it is moved on.
        needs_behind: whether it must be known where the next log stands, even if this one is written already.
    """
    selector = Selector(request.selection, request.names, in_parts=True)
    selector.take_passed(place.passed)
    catalog = unpacked(place.tables)
    state = ChainState(place.epoch, place.seqno, row_filter)
    context = ExportContext(dataset, selector, catalog, request.options, state, has_thread)
    export = LogExport(context, file)
    seeks = request.selection.gtids is not None or request.names or row_filter is not None
    staged = None
    try:
        kept = export.find_kept()
        if kept is None:
            export.write(begin(export.source), progress)
            staged = export.staged()
            # Whoever commits it may be another process.
            staged = staged._replace(schemas=tuple(staged.schemas))
        elif needs_behind or seeks or kept["damage"]:
            export.pass_over(progress)
    finally:
        export.close()
    behind = Place(packed(catalog), state.epoch, state.seqno, selector.passed)
    return ExportedLog(staged, kept, selector.found, tuple(selector.notes), behind)
