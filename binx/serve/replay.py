"""Carry out a recovery plan: serve the logs to the restored server, and watch it replicate them to the end.

What the server has applied, and where it goes on, only the server knows: a replay that was interrupted, on
either side, goes on when it is begun again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from binx.errors import ConnectionLostError, ServerError, UnsupportedError, UsageError
from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.backup_position import BackupPosition
from binx.log.chain.chain import ChainLog
from binx.log.held import HeldTransactions, logs_of_backup
from binx.log.scan import find_transactions
from binx.log.selection.table_filter import quoted
from binx.log.selection.times import Position
from binx.pull.connection_parameters import Login
from binx.recovery.recovery_plan import RecoveryPlan
from binx.serve.login import Account, Entrance
from binx.serve.offer import Offer, gtids_up_to, offer_of
from binx.serve.replica import CHANNEL, Replica, ReplicaProgress, ServedSource, connected_replica
from binx.serve.service import Address, Service
from binx.source.wording import counted

_USER = "binx"
_POLL_SECONDS = 0.5
_PATIENCE = 120.0
"""Seconds without an answer of the target, or without its connection, after which it is given up."""


class ReplayProgress(NamedTuple):
    """How far a replay is.

    Attributes:
        bytes: of the logs, from the first transaction to replay on; ``total`` is up to the end.
        transactions: those applied, of all.
    """

    bytes: int
    total: int
    transactions: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay has done.

    Attributes:
        transactions: number of transactions that this run applied.
        gtids: those that the target has now.
        own: GTIDs that it has besides those of the backup and the logs.
        is_complete: whether it has all up to the plan's end, rather than being stopped on request.
    """

    transactions: int
    gtids: GtidSet
    own: GtidSet
    is_complete: bool


class Tables(NamedTuple):
    """What it means to replay some tables alone.

    Attributes:
        transactions: number of those to replay that change rows of these tables.
        mixed: number of those that change rows of others too.
        absent: tables of which no row is changed.
    """

    transactions: int
    mixed: int
    absent: tuple[tuple[str, str], ...]


def offer_of_plan(chain: Sequence[ChainLog], plan: RecoveryPlan) -> Offer:
    """Offer the logs that a plan replays, up to its end.

    Raises:
        UsageError: there is nothing to replay, or it may not be replayed.
    """
    if plan.last is None or not plan.replayable:
        raise UsageError("; ".join(plan.reasons) or "the backup stands at the target: nothing to replay")
    logs = logs_of_backup(chain, plan.backup)
    first = next(index for index, log in enumerate(logs) if log.file.path == plan.files[0].path)
    return offer_of(logs[first:], Position(plan.last.file, plan.last.position))


def held_by_backup(chain: Sequence[ChainLog], backup: BackupPosition) -> GtidSet:
    """Return the GTIDs of what a backup holds: those that it notes, else those before its position."""
    if backup.gtids:
        return backup.gtids
    log = next(log for log in logs_of_backup(chain, backup) if log.file.name == backup.file)
    return (log.facts.gtids_before or GtidSet()) | gtids_up_to(log.file, backup.offset)


def effect_on_tables(
    chain: Sequence[ChainLog], plan: RecoveryPlan, tables: Sequence[tuple[str, str]]
) -> Tables:
    """Return what the replay of some tables alone takes, and what it tears apart.

    Raises:
        UsageError: nothing would be replayed.
    """
    files = {log.file.path: log.file for log in chain}
    wanted, seen = set(tables), set[tuple[str, str]]()
    touching = mixed = 0
    for part in plan.files:
        scan = find_transactions(files[part.path], Level.LEVEL_TABLES, verify=False)
        for table in scan:
            names = [scan.table_name(number) for number in range(scan.table_count)]
            ours = table.mask()
            table.keep_range(ours, "start", part.start, part.end - 1)
            others = bytearray(ours)
            table.keep_tables(ours, bytes(name in wanted for name in names))
            table.keep_tables(others, bytes(name not in wanted for name in names))
            touching += sum(ours)
            mixed += sum(one & other for one, other in zip(ours, others, strict=True))
            for index in table.marked(ours):
                seen.update(names[counts[0]] for counts in table.counts_of(index))
    if not touching:
        raise UsageError(
            f"no transaction to replay changes rows of {_names(tables)}; all would count as applied, so check"
            " the names"
        )
    return Tables(touching, mixed, tuple(name for name in tables if name not in seen))


class Replay:
    """One run of a plan against a target.

    Args:
        held: the GTIDs of what the backup holds.
        listen: where the service listens for the target; port 0 takes one that is free.
        entrance: of the service, whose account is one of this run alone.
        tables: database and name of those to replay; none for all.
        say: called with each event of interest, a sentence.
        tick: called some times a second with how far it is.

    Raises:
        UnsupportedError: some of the transactions have no GTIDs.
    """

    def __init__(
        self,
        plan: RecoveryPlan,
        offer: Offer,
        login: Login,
        held: GtidSet,
        *,
        listen: Address,
        entrance: Entrance,
        tables: Sequence[tuple[str, str]],
        say: Callable[[str], None],
        tick: Callable[[ReplayProgress], None],
    ) -> None:
        if not (offer.is_mariadb or offer.gtid_mode == "ON"):
            raise UnsupportedError(
                "expected transactions with GTIDs, which tell what a server has applied, whatever interrupts"
                " it; found some without: take one of the ways that binx plan prints"
            )
        self.stop = Event()
        self._plan = plan
        self._offer = offer
        self._login = login
        self._held = held
        self._listen = listen
        self._entrance = entrance
        self._tables = tables
        self._say = say
        self._tick = tick
        self._before: GtidSet | None = None
        self._answered = 0.0
        self._starts = _starts(plan)

    def run(self) -> Outcome:
        """Bring the target to the plan's end, or as far as it is when :attr:`stop` is set.

        Raises:
            ServerError: the target refuses, or one of its threads has failed.
            UsageError: the target is not the restored backup.
        """
        with self._serving() as source:
            while True:
                try:
                    with connected_replica(self._login, self._flavour) as replica:
                        return self._replay(replica, source)
                except ConnectionLostError as error:
                    if not self._answered or monotonic() - self._answered > _PATIENCE or self.stop.is_set():
                        raise
                    self._say(f"{error.message}; trying again")
                    self.stop.wait(2 * _POLL_SECONDS)

    @property
    def _flavour(self) -> Flavour:
        return self._offer.description.flavour

    @contextmanager
    def _serving(self) -> Iterator[ServedSource]:
        password = secrets.token_hex(16)
        entrance = replace(self._entrance, account=Account(_USER, password))
        service = Service(self._offer, entrance, self._listen, self._say, once=False)
        thread = Thread(target=service.run, daemon=True)
        thread.start()
        try:
            host, port = service.address
            yield ServedSource(host, port, _USER, password, entrance.tls is not None)
        finally:
            service.stop.set()
            thread.join()

    def _replay(self, replica: Replica, source: ServedSource) -> Outcome:
        replica.refuse_unfit()
        progress = replica.progress()
        self._refuse_unfiltered(progress)
        replica.declare(self._held)
        executed = replica.executed
        self._answered = monotonic()
        if ahead := self._offer.ahead(executed):
            raise UsageError(
                f"the target has {ahead}, which come after the end of the plan: restore the backup again",
                path=self._login.server,
            )
        if self._before is None:
            self._before = executed
        if self._has_all(executed):
            replica.disconnect()
            return self._outcome(replica, is_complete=True)
        replica.connect(source, self._tables)
        connected = monotonic()
        while not self.stop.wait(_POLL_SECONDS):
            progress = replica.progress()
            now = self._answered = monotonic()
            if progress is None:
                raise self._failure("its channel was removed meanwhile")
            executed = replica.executed
            if self._has_all(executed):
                replica.disconnect()
                return self._outcome(replica, is_complete=True)
            if progress.error:
                raise self._failure(progress.error)
            if not (progress.receives and progress.applies):
                raise self._failure("its replication was stopped")
            if not progress.waiting:
                connected = now
            elif now - connected > _PATIENCE:
                raise self._failure(
                    f"it does not reach {source.host}:{source.port} ({progress.waiting}); --listen says where"
                    " binx is for it"
                )
            self._tick(ReplayProgress(self._bytes(progress), self._plan.bytes, self._applied(executed)))
        replica.halt()
        return self._outcome(replica, is_complete=False)

    def _refuse_unfiltered(self, progress: ReplicaProgress | None) -> None:
        """Refuse a replica that runs with another filter, as one does that was restarted meanwhile."""
        if progress is None or not (progress.receives or progress.applies or progress.error):
            return
        wanted = {f"{db}.{table}" for db, table in self._tables}
        if wanted != set(filter(None, progress.tables.replace("`", "").split(","))):
            raise UsageError(
                f"the target's channel {CHANNEL} replays {progress.tables or 'all tables'}, as after a"
                " restart of the server, which forgets filters: restore the backup again, and start the"
                " server with --skip-replica-start (--skip-slave-start)"
                if self._tables
                else f"the target's channel {CHANNEL} replays only {progress.tables}: give them with"
                " --tables, or restore the backup again",
                path=self._login.server,
            )

    def _has_all(self, executed: GtidSet) -> bool:
        return not HeldTransactions(BackupPosition(gtids=executed), None).missing(self._offer.gtids)

    def _bytes(self, progress: ReplicaProgress) -> int:
        """Return the bytes of the plan's parts that are applied."""
        if progress.file not in self._starts:
            return 0
        before, start, end = self._starts[progress.file]
        return before + max(0, min(progress.position, end) - start)

    def _applied(self, executed: GtidSet) -> int:
        """Return the number of the plan's transactions that this run has applied."""
        needed = self._missing_of(self._before or GtidSet())
        return needed - self._missing_of(executed)

    def _missing_of(self, executed: GtidSet) -> int:
        return HeldTransactions(BackupPosition(gtids=executed), None).missing(self._plan.gtid_set).count

    def _outcome(self, replica: Replica, *, is_complete: bool) -> Outcome:
        executed = replica.executed
        if is_complete and not self._has_all(executed):
            raise self._failure("it no longer has the GTIDs that it had")
        own = GtidSet() if self._offer.is_mariadb else executed - (self._offer.gtids | self._held)
        return Outcome(self._applied(executed), executed, own, is_complete)

    def _failure(self, reason: str) -> ServerError:
        return ServerError(
            f"the target stopped: {reason}; what it has stays, and the same command goes on once the cause is"
            " gone",
            server=self._login.server,
        )


def inconsistent(tables: Sequence[tuple[str, str]], effect: Tables) -> list[str]:
    """Return what a replay of some tables alone leaves inconsistent, a sentence each."""
    sentences = [
        f"only {_names(tables)} is brought to the target; all other tables stay as in the backup, so that"
        " foreign keys between them may not hold: take the tables from there, and do not use the server as"
        " it is",
        f"{counted(effect.transactions, 'transaction')} to replay change their rows, {effect.mixed:,} of them"
        " those of other tables too, which part is left out",
        "statements on whole databases are run, and of others those that change these tables alone; what"
        " foreign keys with CASCADE did to them because of other tables is left out",
        "the GTIDs of all transactions count as applied, so that the rest cannot be replayed later",
    ]
    if effect.absent:
        sentences.append(f"no transaction to replay changes rows of {_names(effect.absent)}")
    return sentences


def _names(tables: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{quoted(db)}.{quoted(table)}" for db, table in tables)


def _starts(plan: RecoveryPlan) -> dict[str, tuple[int, int, int]]:
    """Return for each log the plan's bytes before it, and where its part begins and ends."""
    starts: dict[str, tuple[int, int, int]] = {}
    before = 0
    for part in plan.files:
        starts[part.file] = before, part.start, part.end
        before += part.end - part.start
    return starts
