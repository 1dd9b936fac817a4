"""Where a dump begins, and what a source says where it cannot: error 1236, with the words of servers.

Sources: MySQL's share/messages_to_clients.txt and messages_to_error_log.txt,
sql/rpl_binlog_sender.cc (``check_start_file``, ``check_start_position``), MariaDB's sql/sql_repl.cc
(``check_slave_start_position``, ``gtid_find_binlog_file``) and sql/share/errmsg-utf8.txt.
"""

from __future__ import annotations

from binx.errors import BinxError, UsageError
from binx.event.format import MAGIC_SIZE
from binx.event.gtid.domains import domain_positions
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import BackupPosition
from binx.log.held import HeldTransactions
from binx.pull.requests import DumpRequest
from binx.serve.offer import Offer, StreamPosition

FATAL = 1236
"""ER_MASTER_FATAL_ERROR_READING_BINLOG."""


class FatalError(BinxError):
    """A dump ends with error 1236, at which a replica stops; the message is what it reports."""


def start_by_position(offer: Offer, request: DumpRequest) -> StreamPosition:
    """Return where a dump by log and position begins.

    Raises:
        FatalError: the log or the position is not in the offer.
    """
    names = [log.name for log in offer.logs]
    if request.log and request.log not in names:
        raise FatalError("Could not find first log file name in binary log index file")
    start = StreamPosition(names.index(request.log) if request.log else 0, request.position)
    if start.offset < MAGIC_SIZE:
        raise FatalError("Client requested source to start replication from position < 4")
    if start.offset > offer.logs[start.log].size:
        raise FatalError("Client requested source to start replication from position > file size")
    if start > offer.end:
        raise FatalError(f"Client requested source to start replication after the end, {offer.end_name}")
    return start


def start_after_set(offer: Offer, held: GtidSet) -> StreamPosition:
    """Return where a dump begins for a replica of MySQL that has some GTIDs: its auto-position.

    Raises:
        FatalError: the logs lack GTIDs that the replica needs, or the replica has more than they do.
    """
    if offer.gtid_mode == "OFF":
        raise FatalError(
            "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE ="
            " OFF instead of ON."
        )
    if missing := offer.purged - held:
        raise FatalError(
            "Cannot replicate because the source purged required binary logs. Replicate the missing"
            " transactions from elsewhere, or provision a new replica from backup. Consider increasing the"
            f" source's binary log expiration period. The GTID set sent by the replica is '{held}', and the"
            f" missing transactions are '{missing}'"
        )
    if ahead := offer.ahead(held):
        raise FatalError(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID. This may indicate"
            " that the end of the binary log was truncated or that the last binary log file was lost. The"
            f" logs that binx serves end at {offer.end_name} and do not have '{ahead}'"
        )
    listed = [log.gtids_before for log in offer.logs]
    fitting = [index for index, before in enumerate(listed) if before is not None and before <= held]
    return StreamPosition(fitting[-1] if fitting else 0, MAGIC_SIZE)


def start_after_domains(offer: Offer, held: GtidSet) -> StreamPosition:
    """Return where a dump begins for a replica of MariaDB: after the last GTID of each domain.

    Raises:
        FatalError: as for :func:`start_after_set`.
    """
    if ahead := offer.ahead(held):
        raise FatalError(
            f"Error: connecting slave requested to start from GTID {ahead}, which is not in the master's"
            f" binlog; the logs that binx serves end with {domain_positions(offer.gtids)}"
        )
    holding = HeldTransactions(BackupPosition(gtids=held), None)
    listed = [log.gtids_before for log in offer.logs]
    fitting = [
        index
        for index, before in enumerate(listed)
        if before is not None and not (holding.missing(before) if held else before)
    ]
    if not fitting:
        raise FatalError(
            "Could not find GTID state requested by slave in any binlog files. Probably the slave state is"
            " too old and required binlog files have been purged."
        )
    return StreamPosition(fitting[-1], MAGIC_SIZE)


def parse_domains(text: str) -> GtidSet:
    """Read a position of MariaDB, such as ``0-1-100,1-2-5``.

    Raises:
        FatalError: it is none.
    """
    try:
        gtids = GtidSet.parse(text)
    except UsageError as error:
        raise FatalError(f"Incorrect GTID position: {error.message}") from error
    if not all(isinstance(source, DomainSource) for source in gtids.sources):
        raise FatalError(f"Incorrect GTID position: {text}")
    return gtids
