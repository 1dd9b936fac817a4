"""Find the logs of the server that a backup is of, and the transactions that it already contains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource, UuidSource
from binx.kernels.transactions.table import TransactionTable
from binx.log.backup_position import BackupPosition
from binx.log.chain.chain import ChainLog
from binx.log.identifiers import kernel_intervals, marked_gtids
from binx.log.scan import find_transactions


class HeldTransactions:
    """The transactions in a backup: by GTID if it has GTIDs, else those before its position.

    MySQL's GTID sets list every transaction. MariaDB's list the last one of each domain, from any server, and
    tell what is in the backup if a domain's sequence numbers ascend in the logs.

    Args:
        backup: the backup's position.
        log_index: index of the log that it names; None if it is not among the logs.
    """

    def __init__(self, backup: BackupPosition, log_index: int | None) -> None:
        self.by_gtid = bool(backup.gtids)
        self._gtids = backup.gtids
        self._offset = backup.offset
        self._index = log_index
        self._last: dict[int, int] = {}
        self._reached: dict[int, int] = {}
        self._listed = GtidSet()
        for source, _, last in backup.gtids:
            if isinstance(source, DomainSource):
                self._last[source.domain] = max(self._last.get(source.domain, 0), last)

    def missing(self, gtids: Iterable[tuple[GtidSource, int, int]]) -> GtidSet:
        """Return the GTIDs that are not in the backup."""
        missing: list[tuple[GtidSource, int, int]] = []
        for source, first, last in gtids:
            if isinstance(source, DomainSource):
                start = max(first, self._last.get(source.domain, -1) + 1)
                if start <= last:
                    missing.append((source, start, last))
            else:
                missing += GtidSet([(source, first, last)]) - self._gtids
        return GtidSet(missing)

    def holds(self, listed: GtidSet) -> bool:
        """Return whether the backup has all that the next log lists, and GTIDs did not begin again."""
        gone, new = self._listed - listed, listed - self._listed
        self._listed = listed
        return (
            not self.missing(listed)
            and self.goes_back(in_ascending_order(new)) is None
            and not any(isinstance(source, UuidSource) for source in gone.sources)
        )

    def goes_back(self, gtids: Iterable[str]) -> str | None:
        """Return the first of MariaDB's next GTIDs in the logs that is not above those of its domain."""
        for gtid in gtids if self._last else ():
            domain, _, number = map(int, gtid.split("-"))
            if number <= self._reached.get(domain, -1):
                return gtid
            self._reached[domain] = number
        return None

    def mask(self, table: TransactionTable, log_index: int) -> bytearray | None:
        """Mark the transactions of a log that are in the backup.

        Args:
            table: some of the log's transactions.
            log_index: the log's index among the logs.

        Returns:
            One byte for each, 1 if it is in the backup; None if unknown for a transaction without GTID.
        """
        if not self.by_gtid:
            return self._before_position(table, log_index)
        mask = table.mask()
        gtids = GtidSet(marked_gtids(table, mask))
        table.keep_gtids(mask, kernel_intervals(gtids - self.missing(gtids)), True)
        if table.all_have_gtids():
            return mask
        if self._index is None:
            return None
        before = self._before_position(table, log_index)
        for index in range(len(table)):
            if table.gtid(index) is None:
                mask[index] = before[index]
        return mask

    def _before_position(self, table: TransactionTable, log_index: int) -> bytearray:
        mask = table.mask()
        if self._index == log_index:
            table.keep_range(mask, "end", 0, self._offset)
        elif self._index is None or log_index > self._index:
            mask = bytearray(len(table))
        return mask

    def disagrees(self, table: TransactionTable, log_index: int, mask: bytearray | None) -> bool:
        """Whether a backup's position contradicts its GTIDs, as when they are from different servers' logs.

        Args:
            table: some of a log's transactions.
            log_index: the log's index among the logs.
            mask: the mask of the transactions in the backup.
        """
        return self.by_gtid and self._index == log_index and self._before_position(table, log_index) != mask

    def cut_transaction(self, table: TransactionTable, log_index: int) -> int | None:
        """Return the start of the transaction that contains the backup's position, or None."""
        if self._index != log_index or self.by_gtid:
            return None
        mask = table.mask()
        table.keep_overlap(mask, self._offset, self._offset + 1)
        starts = [table.value("start", index) for index in table.marked(mask)]
        return next((start for start in starts if start < self._offset), None)


def logs_of_backup(chain: Sequence[ChainLog], backup: BackupPosition) -> list[ChainLog]:
    """Return the logs of the backed-up server, from the logs of one or more servers.

    Raises:
        UsageError: the server cannot be determined.
    """
    chains = [list(logs) for _, logs in groupby(chain, key=lambda ends: ends.chain)]
    if len(chains) == 1:
        return chains[0]
    fitting = [logs for logs in chains if _may_be_of(logs, backup)]
    if len(fitting) != 1:
        shown = ", ".join(logs[0].file.path for logs in chains)
        raise UsageError(
            f"expected logs of the server that was backed up, found several chains, which begin with {shown};"
            " give the logs of one"
        )
    return fitting[0]


def _may_be_of(logs: Sequence[ChainLog], backup: BackupPosition) -> bool:
    """Whether a chain has the log that a backup names, with a transaction boundary at its position.

    If the backup has GTIDs, they must be those before that position.
    """
    held = HeldTransactions(backup, 0)
    named = [ends.file for ends in logs if ends.file.name == backup.file and ends.file.size >= backup.offset]
    return len(named) == 1 and all(
        held.cut_transaction(table, 0) is None and not held.disagrees(table, 0, held.mask(table, 0))
        for table in find_transactions(named[0])
    )


def in_ascending_order(gtids: GtidSet) -> list[str]:
    """Return the ends of a set's intervals by number, for MariaDB; of equal numbers in a domain only one."""
    lasts = {
        (last, source.domain): source.server_id
        for source, _, last in gtids
        if isinstance(source, DomainSource)
    }
    return [f"{domain}-{server_id}-{number}" for (number, domain), server_id in sorted(lasts.items())]
