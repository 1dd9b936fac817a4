"""``--check`` of a folder that MySQL Shell's ``util.dumpBinlogs()`` wrote.

It has no hashes: the logs are read and verified in full, and compared with what their dumps say of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from binx.archive.check import CheckedLog, CheckReport, Finding, check_chains
from binx.errors import BinxError, SourceError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.ends import facts_of
from binx.log.identifiers import marked_gtids
from binx.log.scan import Scan
from binx.source.shell_dump import DumpedLog, DumpedPart, dumped_logs


def check_dumps(folder: str, progress: Callable[[int, int], None] = lambda done, total: None) -> CheckReport:
    """Verify a folder of dumps of binary logs, or of a single dump.

    Args:
        progress: called with the bytes of files checked and the total.

    Raises:
        AbsentError: there are no dumps, or one between others is missing.
        DamagedError, SourceError: a dump is incomplete, or what describes it cannot be read.
    """
    report = CheckReport()
    found: list[CheckedLog] = []
    logs = dumped_logs(folder)
    done, total = 0, sum(part.file_bytes for log in logs for part in log.parts)
    for log in logs:
        report.logs += 1
        intact = [_is_whole(part, report) for part in log.parts]
        if all(intact):
            checked = _checked(log, report)
            found += [] if checked is None else [checked]
        done += sum(part.file_bytes for part in log.parts)
        progress(done, total)
    report.gtid_set = GtidSet(interval for log in found for interval in log.gtids)
    check_chains(found, report)
    return report


def _is_whole(part: DumpedPart, report: CheckReport) -> bool:
    """Compare the size of a file with what its dump says."""
    try:
        size = Path(part.path).stat().st_size
    except OSError as error:
        report.add(Finding.OBJECT_MISSING, part.path, f"cannot be read: {error.strerror}")
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


def _checked(log: DumpedLog, report: CheckReport) -> CheckedLog | None:
    """Read a log in full, and compare it with what its dumps say of it."""
    try:
        with BinlogFile.open(log.path) as file:
            gtids, transactions = _contents(file)
            report.bytes += file.size
            report.transactions += transactions
            facts = facts_of(file)
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
    return CheckedLog(facts, gtids)


def _contents(file: BinlogFile) -> tuple[GtidSet, int]:
    """Return the GTIDs and the number of a log's transactions."""
    gtids, transactions = GtidSet(), 0
    for table in Scan(file, Level.LEVEL_TABLES):
        transactions += len(table)
        gtids |= GtidSet(marked_gtids(table, table.mask()))
    return gtids, transactions
