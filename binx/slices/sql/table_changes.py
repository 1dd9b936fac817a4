"""Another pass over logs, for the row changes of some tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.rows.statements import Statement
from binx.slices.changes import Selected


def table_changes(
    selected: Iterable[Selected], catalog: Catalog, wanted: Callable[[str, str], bool]
) -> Iterator[tuple[ChangeBatch | Statement, BinlogFile]]:
    """Yield the row changes of some tables, and all statements; each kind in the log's order.

    Args:
        selected: the transactions.
        catalog: the tables known beforehand; moved on by the schema statements met.
        wanted: whether a table's changes are wanted, by database and name.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
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


__all__ = ["table_changes"]
