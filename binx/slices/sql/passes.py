"""Another pass over logs: for the row changes of some tables, and without what was rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from binx.kernels.transactions.table import Kind
from binx.log.file import BinlogFile
from binx.log.selection.table_filter import XaEnds, xid_of
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import WITHOUT_ROWS, ChangeDecoder, DecoderOptions
from binx.rows.statements import Statement
from binx.slices.changes import Selected


def table_changes(
    selected: Iterable[Selected], catalog: Catalog, wanted: Callable[[str, str], bool]
) -> Iterator[tuple[ChangeBatch | Statement, BinlogFile]]:
    """Yield the row changes of some tables, and all statements; each kind in the log's order."""
    options = DecoderOptions(arrow=ArrowOptions(raw_text=True, exact_members=True))
    decoder: ChangeDecoder | None = None
    for part in selected:
        if decoder is None or decoder.file is not part.file:
            decoder = ChangeDecoder(part.file, catalog, wanted, options=options)
        if part.behind_damage:
            decoder.forget_tables()
        for item in decoder.decode(part.table, part.mask):
            if isinstance(item, ChangeBatch | Statement):
                yield item, part.file
        for batch in decoder.flush():
            yield batch, part.file


def without_rolled_back(every: Callable[[], Iterable[Selected]]) -> Callable[[], Iterator[Selected]]:
    """The same transactions without the rows of XA transactions that were rolled back in the end."""
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
    """Where the XA transactions stand that were rolled back: file, and offset of what prepared them."""
    prepared: dict[str, tuple[str, int]] = {}
    found: set[tuple[str, int]] = set()
    for part in selected:
        for index in XaEnds.steps(part.table, part.mask):
            kind, xid = part.table.value("kind", index), xid_of(part.file, part.table, index)
            if kind == Kind.KIND_XA_PREPARE:
                prepared[xid] = part.file.path, part.table.value("start", index)
            elif (place := prepared.pop(xid, None)) is not None and kind == Kind.KIND_XA_ROLLBACK:
                found.add(place)
    return found
