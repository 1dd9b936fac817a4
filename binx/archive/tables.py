"""Parquet of archived logs: a data set that grows with the archive, and is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from binx.archive.chains import archived_chains, open_archived, without_superseded
from binx.archive.manifest import ArchivedLog
from binx.dataset.continuation import ChainState
from binx.dataset.dataset import DataSet, escape_name
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scanning import OnDamage
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements
from binx.storage.store import Store

if TYPE_CHECKING:
    from binx.dataset.chain import SourceReport


def has_tables(dataset: DataSet, log: ArchivedLog) -> bool:
    """Whether a data set holds a log."""
    manifest = dataset.manifest(f"{escape_name(log.name)}.{log.identity}")
    return manifest is not None and manifest["source"]["sha256"] == log.sha256


def export_tables(store: Store, logs: Sequence[ArchivedLog], place: str) -> Iterator[SourceReport]:
    """Write the Parquet of the archived logs that a data set does not hold yet, and commit each.

    Of a log that was kept damaged it is that of what is whole; of one whose first event is damaged there is
    none.

    It is that of ``to-parquet`` over all logs at once: of those that the data set holds, the schema
    statements are read again, which the index files tell the places of.
    """
    dataset = DataSet(place)
    readable = [log for log in logs if not log.is_unidentified]
    kept, _ = without_superseded(readable)
    # A run may have been killed when it had committed the last log that was pending.
    dataset.tidy()
    if all(has_tables(dataset, log) for log in kept):
        return
    for chain in archived_chains(store, kept):
        yield from _export_chain(store, chain, dataset, place)


def _export_chain(
    store: Store, chain: list[ArchivedLog], dataset: DataSet, place: str
) -> Iterator[SourceReport]:
    """The logs of one chain, in their order."""
    pending = [not has_tables(dataset, log) for log in chain]
    if not any(pending):
        return
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
    state.epoch += bool(log.create_timestamp)
    state.seqno += log.transactions
    decoder = ChangeDecoder(file, catalog)
    scan = file.transactions(Level.LEVEL_TABLES)
    for table in scan:
        follow_statements(decoder, table)
