"""Parquet of archived logs: a data set that grows with the archive, and is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING

from binx.archive.manifest import ArchivedLog
from binx.archive.opening import open_archived, without_superseded
from binx.export.dataset import DataSet, escape_name
from binx.export.store import Store
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.source.names import number_of

if TYPE_CHECKING:
    from binx.export.staging import ChainState, SourceReport
    from binx.rows.catalog import Catalog


def has_tables(dataset: DataSet, log: ArchivedLog) -> bool:
    """Whether a data set holds a log.

    Raises:
        OutputError: its manifest there cannot be read.
    """
    manifest = dataset.manifest(f"{escape_name(log.name)}.{log.identity}")
    return manifest is not None and manifest["source"]["sha256"] == log.sha256


def export_tables(store: Store, logs: Sequence[ArchivedLog], place: str) -> Iterator[SourceReport]:
    """Write the Parquet of the archived logs that a data set does not hold yet, and commit each.

    Of a log that was kept damaged it is that of what is whole; of one whose first event is damaged there is
    none.

    It is that of ``to-parquet`` over all logs at once: of those that the data set holds, the schema
    statements are read again, which the index files tell the places of.

    Args:
        store: the archive.
        logs: what it holds.
        place: the data set's folder, or URI.

    Raises:
        BinxError: as :func:`binx.export.parquet.to_parquet`; logs before it are committed.
    """
    dataset = DataSet(place)
    readable = [log for log in logs if not log.is_unidentified]
    kept = sorted(without_superseded(readable)[0], key=_place)
    # A run may have been killed when it had committed the last log that was pending.
    dataset.tidy()
    for _, chain in groupby(kept, key=lambda log: _place(log)[:2]):
        yield from _export_chain(store, list(chain), dataset, place)


def _export_chain(
    store: Store, chain: list[ArchivedLog], dataset: DataSet, place: str
) -> Iterator[SourceReport]:
    """The logs of one server, in their order."""
    pending = [not has_tables(dataset, log) for log in chain]
    if not any(pending):
        return
    from binx.export.parquet import to_parquet
    from binx.export.parquet_files import ParquetOptions
    from binx.export.staging import ChainState
    from binx.rows.catalog import Catalog

    catalog, state = Catalog(), ChainState()
    last = len(pending) - pending[::-1].index(True)
    for log, is_pending in zip(chain[:last], pending, strict=False):
        with ExitStack() as stack:
            file = open_archived(store, log, stack)
            if is_pending or log.damage:
                options = ParquetOptions(on_damage=OnDamage.SALVAGE if log.damage else OnDamage.STOP)
                reports = to_parquet([file], place, catalog=catalog, options=options, state=state)
                yield from (report for report in reports if not report.kept)
            else:
                _pass_over(file, log, catalog, state)


def _pass_over(file: BinlogFile, log: ArchivedLog, catalog: Catalog, state: ChainState) -> None:
    """Move on over a log that the data set holds."""
    from binx.rows.decoder import ChangeDecoder
    from binx.rows.following import follow_statements

    state.epoch += bool(log.create_timestamp)
    state.seqno += log.transactions
    decoder = ChangeDecoder(file, catalog)
    scan = file.transactions(Level.LEVEL_TABLES, choose=lambda _: lambda block: block.statements > 0)
    for table in scan:
        follow_statements(decoder, table)


def _place(log: ArchivedLog) -> tuple[int, str, int, int]:
    """Where a log stands: its server, then when it was begun."""
    base = log.name.rpartition(".")[0]
    return log.server_id, base, log.header_timestamp, number_of(log.name)


__all__ = ["export_tables", "has_tables"]
