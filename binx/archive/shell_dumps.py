"""``--check`` of a folder that MySQL Shell's ``util.dumpBinlogs()`` wrote.

It has no hashes: the logs are read and verified in full, and compared with what their dumps say of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import NamedTuple

from binx.archive.check import CheckedLog, CheckReport, Finding, add_tail, check_chains
from binx.errors import BinxError, SourceError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.ends import facts_of
from binx.log.identifiers import marked_gtids
from binx.log.scan import Scan
from binx.log.shell_dump import DumpedLog, DumpedPart, dumped_logs
from binx.storage.store import Store


class _Dumped(NamedTuple):
    """A log as its dumps have it, perhaps without its end."""

    checked: CheckedLog
    identity: str
    size: int


def check_dumps(
    store: Store,
    source: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CheckReport:
    """Verify a folder of dumps of binary logs, or of a single dump.

    Args:
        source: where the logs come from; None reports nothing about what is not dumped yet.
        progress: called with the bytes of files checked and the total.

    Raises:
        AbsentError: there are no dumps, or one between others is missing.
        DamagedError, SourceError: a dump is incomplete, or what describes it cannot be read.
    """
    report = CheckReport()
    found: list[_Dumped] = []
    logs = dumped_logs(store)
    done, total = 0, sum(part.file_bytes for log in logs for part in log.parts)
    for log in logs:
        report.logs += 1
        intact = [_is_whole(store, part, report) for part in log.parts]
        if all(intact):
            checked = _checked(log, report)
            found += [] if checked is None else [checked]
        done += sum(part.file_bytes for part in log.parts)
        progress(done, total)
    report.gtid_set = GtidSet(interval for log in found for interval in log.checked.gtids)
    with ExitStack() as stack:
        chains = [log.checked for log in found]
        if source is not None:
            chains = _with_tail(source, {log.parts[0].log for log in logs}, found, report, stack)
        check_chains(chains, report)
    return report


def _with_tail(
    source: str, names: Collection[str], found: Sequence[_Dumped], report: CheckReport, stack: ExitStack
) -> list[CheckedLog]:
    """Return the dumped logs and those of a source; of a log that was dumped in part, that of the source."""
    dumped = {(log.checked.facts.name, log.identity): log for log in found}

    def is_dumped(file: BinlogFile) -> bool:
        log = dumped.get((file.name, file.identity))
        if log is None or log.size < file.size:
            dumped.pop((file.name, file.identity), None)
            return False
        return True

    tail = list(add_tail(source, names, is_dumped, report, stack))
    report.tail = [replace(log, gtid_set=log.gtid_set - report.gtid_set) for log in report.tail or ()]
    return [*(log.checked for log in dumped.values()), *tail]


def _is_whole(store: Store, part: DumpedPart, report: CheckReport) -> bool:
    """Compare the size of a file with what its dump says."""
    try:
        with closing(store.open(part.name)) as file:
            size = file.size
    except SourceError as error:
        report.add(Finding.OBJECT_MISSING, part.path, error.message)
        return False
    report.stored_bytes += size
    if size == part.file_bytes:
        return True
    report.add(
        Finding.OBJECT_CHANGED,
        part.path,
        f"expected {part.file_bytes:,} bytes, as its dump says, found {size:,}; take it from another copy",
    )
    return False


def _checked(log: DumpedLog, report: CheckReport) -> _Dumped | None:
    """Read a log in full, and compare it with what its dumps say of it."""
    try:
        with BinlogFile.open(log.path) as file:
            gtids, transactions = _contents(file)
            report.bytes += file.size
            report.transactions += transactions
            facts, identity, size = facts_of(file), file.identity, file.size
    except BinxError as error:
        kind = Finding.OBJECT_MISSING if isinstance(error, SourceError) else Finding.DAMAGED
        report.add(kind, error.path or log.path, error.message)
        return None
    said = GtidSet(interval for part in log.parts for interval in GtidSet.parse(part.gtids))
    if gtids != said:
        lacking, more = said - gtids, gtids - said
        report.add(
            Finding.OBJECT_CHANGED,
            log.path,
            "expected the GTIDs that its dumps say it has, found others:"
            f" lacking {lacking or 'none'}, more than said {more or 'none'}",
            str(lacking | more),
        )
    return _Dumped(CheckedLog(facts, gtids), identity, size)


def _contents(file: BinlogFile) -> tuple[GtidSet, int]:
    """Return the GTIDs and the number of a log's transactions."""
    gtids, transactions = GtidSet(), 0
    for table in Scan(file, Level.LEVEL_TABLES):
        transactions += len(table)
        gtids |= GtidSet(marked_gtids(table, table.mask()))
    return gtids, transactions
