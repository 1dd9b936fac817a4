"""The logs that are offered to replicas: which there are, where they end, and what they say of the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from binx.errors import AbsentError, UnsupportedError, UsageError
from binx.event.format import MAGIC_SIZE, Flavour, FormatDescription
from binx.event.gtid.domains import last_of_domains
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.event.header import HEADER_SIZE, parse_header
from binx.kernels.transactions.table import GtidKind
from binx.log.backup_position import BackupPosition
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog, chain_problems
from binx.log.chain.inputs import STANDARD_INPUT
from binx.log.identifiers import gtids_of, marked_gtids
from binx.log.scan import Scan
from binx.log.selection.times import Position, index_of_file
from binx.log.succession import ChainProblemKind, differences, list_gtids
from binx.recovery.recovery_plan import Target, plan_recovery


class OfferedLog(NamedTuple):
    """A log of the offer; each replica opens it for itself.

    Attributes:
        gtids_before: what it lists as logged before it; None if it lists nothing.
    """

    path: str
    name: str
    size: int
    gtids_before: GtidSet | None


class StreamPosition(NamedTuple):
    """A place in the offered logs.

    Attributes:
        log: index of the log among those offered.
    """

    log: int
    offset: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A chain of logs up to an end.

    Attributes:
        end: after the last transaction that replicas get.
        reached: name of the log, and the position in it, where a replica is that has everything: after a
            ROTATE at the beginning of the log that it names.
        description: the format description of the last log.
        gtids: those of all transactions up to the end, and before the first log; of MariaDB the last ones.
        gtid_mode: as MySQL's variable of that name: ON, OFF, or ON_PERMISSIVE if some transactions have none.
    """

    logs: tuple[OfferedLog, ...]
    end: StreamPosition
    reached: tuple[str, int]
    description: FormatDescription
    gtids: GtidSet
    gtid_mode: str

    @property
    def is_mariadb(self) -> bool:
        """Whether a MariaDB server wrote the logs."""
        return self.description.flavour is Flavour.MARIADB

    @property
    def purged(self) -> GtidSet:
        """The GTIDs before the first log."""
        return self.logs[0].gtids_before or GtidSet()

    def ahead(self, held: GtidSet) -> GtidSet:
        """Return those of some GTIDs that come after the end: of MariaDB the last one of each domain."""
        if not self.is_mariadb:
            return GtidSet(run for run in held if run[0] in self.gtids.sources) - self.gtids
        ours = last_of_domains(self.gtids)
        return GtidSet(
            (DomainSource(domain, server), number, number)
            for domain, (number, server) in last_of_domains(held).items()
            if domain in ours and number > ours[domain][0]
        )

    @property
    def checksum(self) -> str:
        """What the variable binlog_checksum says."""
        return self.description.checksum.name.replace("OFF", "NONE")

    @property
    def server_uuid(self) -> str:
        """A UUID that is always the same for these logs, and no server's: replicas refuse their own."""
        first = self.logs[0]
        return str(uuid5(NAMESPACE_OID, f"binx serve {self.description.server_id} {first.name}"))

    @property
    def end_name(self) -> str:
        """The end as people write it."""
        return f"{self.logs[self.end.log].name}:{self.end.offset}"


def offer_of(chain: Sequence[ChainLog], until: Target | Position | None = None) -> Offer:
    """Offer a chain of logs.

    Args:
        chain: the logs, in chain order.
        until: where the offer ends; None for the end of the logs.

    Raises:
        UsageError: the logs are of several servers, or the end is inside a transaction or an event.
        AbsentError: logs are missing between others, or the end is not in the logs.
        UnsupportedError: relay logs, or standard input, which can be read only once.
    """
    _refuse_unfit(chain)
    end = _end(chain, until)
    last = chain[end.log]
    described = last.facts.gtids_before
    gtids = (described or GtidSet()) | gtids_up_to(last.file, end.offset)
    logs = tuple(
        OfferedLog(log.file.path, log.facts.name, log.file.size, log.facts.gtids_before)
        for log in chain[: end.log + 1]
    )
    kinds = _kinds(chain) | _kinds(reversed(chain[: end.log + 1]))
    reached = last.facts.name, end.offset
    if last.facts.next_log is not None and end.offset == last.file.size:
        reached = last.facts.next_log, MAGIC_SIZE
    return Offer(logs, end, reached, last.file.format, gtids, _gtid_mode(kinds))


def _refuse_unfit(chain: Sequence[ChainLog]) -> None:
    others = [log for log in chain if log.chain != chain[0].chain]
    if others:
        raise UsageError(
            f"expected the logs of one server, found others, which begin with {others[0].file.path}; give the"
            " logs of one"
        )
    for log in chain:
        if log.file.path == STANDARD_INPUT:
            raise UnsupportedError(
                "each replica reads the logs for itself, and standard input only one can read"
            )
        if log.file.is_relay_log:
            raise UnsupportedError(
                "expected a binary log, found a relay log: serve the logs of its source",
                path=log.file.path,
            )
    files = {log.facts.path: log.file for log in chain}
    for problem in chain_problems(chain):
        if problem.kind is ChainProblemKind.GAP and list_gtids(problem.before, problem.after):
            content = gtids_of(Scan(files[problem.before.path]))
            if not differences(problem.before, content, problem.after)[0]:
                # What is missing has no transactions.
                continue
        if problem.lacks_transactions() or problem.kind is ChainProblemKind.GTIDS_LOST:
            raise AbsentError(
                f"{problem.message}; replicas would lack what is between, so give the missing log, or only"
                " the logs after it",
                path=problem.before.path,
            )


def _end(chain: Sequence[ChainLog], until: Target | Position | None) -> StreamPosition:
    if until is None:
        last = len(chain) - 1
        return StreamPosition(last, _boundary(chain[last].file, chain[last].file.size))
    if isinstance(until, Position):
        index = index_of_file(until, [log.facts.name for log in chain])
        file = chain[index].file
        if until.offset > file.size:
            raise AbsentError(f"it has no position {until.offset}, but ends at {file.size}", path=file.path)
        boundary = _boundary(file, until.offset)
        if boundary != until.offset:
            raise UsageError(
                f"the position {until.offset} is inside a transaction or an event, which begins at"
                f" {boundary}; give its beginning or its end",
                path=file.path,
            )
        return StreamPosition(index, until.offset)
    first = chain[0].file
    plan = plan_recovery(chain, BackupPosition(first.name, first.first_position), until)
    if plan.reasons:
        raise AbsentError("; ".join(plan.reasons))
    if plan.last is None:
        return StreamPosition(0, first.first_position)
    return StreamPosition(
        index_of_file(Position(plan.last.file, 0), [log.facts.name for log in chain]), plan.last.position
    )


def _boundary(file: BinlogFile, offset: int) -> int:
    """Return the last place up to an offset at which an event ends, and which is in no transaction."""
    position = MAGIC_SIZE
    scan = Scan(file, verify=False)
    for table in scan:
        mask = table.mask()
        table.keep_overlap(mask, offset, offset + 1)
        for index in table.marked(mask):
            start: int = table.value("start", index)
            return start
        before = table.mask()
        table.keep_range(before, "end", 0, offset)
        if any(before):
            position = table.value("end", before.rindex(1))
        if scan.accounted > offset:
            break
    stop = min(scan.accounted, offset)
    while position < stop:
        header = file.source.window(position, position + HEADER_SIZE)
        size = parse_header(header, position, origin=position).size
        if position + size > stop:
            break
        position += size
    return position


def gtids_up_to(file: BinlogFile, offset: int) -> GtidSet:
    """Return the GTIDs of a log's transactions that end at an offset or before."""
    runs: list[tuple[GtidSource, int, int]] = []
    for table in Scan(file, verify=False):
        mask = table.mask()
        table.keep_range(mask, "end", 0, offset)
        runs += marked_gtids(table, mask)
    return GtidSet(runs)


def _kinds(chain: Iterable[ChainLog]) -> set[int]:
    """Return the kinds of GTIDs in the first log that has transactions."""
    for log in chain:
        for table in Scan(log.file, verify=False):
            if len(table):
                return set(memoryview(table.column("gtid_kind")).cast("q"))
    return set()


def _gtid_mode(kinds: set[int]) -> str:
    if kinds <= {GtidKind.GTID_MYSQL}:
        return "ON"
    return "ON_PERMISSIVE" if GtidKind.GTID_MYSQL in kinds else "OFF"
