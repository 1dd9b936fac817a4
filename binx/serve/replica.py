"""A restored server as a replica of binx: the statements that connect it, watch it and end it.

The replica uses a channel of its own (of MariaDB, a named connection), so that others stay as they are.

Sources: MySQL manual, "CHANGE REPLICATION SOURCE TO", "START REPLICA", "CHANGE REPLICATION FILTER"; MariaDB
knowledge base, "CHANGE MASTER TO", "Multi-Source Replication", "Replication Filters".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from binx.errors import ServerError, UnsupportedError, UsageError
from binx.event.format import Flavour, flavour_of, split_version
from binx.event.gtid.domains import domain_positions
from binx.event.gtid.sets import GtidSet
from binx.log.selection.table_filter import quoted
from binx.pull.connection import Connection
from binx.pull.connection_parameters import Login
from binx.rows.columns.types import quote_text

CHANNEL = "binx"
GRANTS = (
    "REPLICATION_SLAVE_ADMIN, REPLICATION CLIENT, SYSTEM_VARIABLES_ADMIN and RELOAD"
    " (MariaDB: REPLICATION SLAVE ADMIN, SLAVE MONITOR and RELOAD)"
)
"""What the account of a target needs."""

_STRICT = {
    "replica_skip_errors": "OFF",
    "slave_skip_errors": "OFF",
    "replica_exec_mode": "STRICT",
    "slave_exec_mode": "STRICT",
}
"""Variables, and the values with which a replica stops where it cannot apply something."""
_OTHER_FILTERS = (
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
)
_ANSWER_SECONDS = 600.0
"""Stopping waits for the transaction that is being applied."""
_SINCE = (8, 0, 23)
"""Older versions of MySQL do not have these words."""


class ServedSource(NamedTuple):
    """Where a replica finds its source; the account is the one that the service lets in."""

    host: str
    port: int
    user: str
    password: str
    has_tls: bool


class ReplicaProgress(NamedTuple):
    """How far a replica is.

    Attributes:
        file: the source's log, up to whose ``position`` all is applied; empty at first.
        receives: whether the thread that takes events from the source runs.
        applies: whether the one that applies them runs.
        error: of a thread that has stopped; empty for none.
        waiting: why it has no connection; empty if it has one.
        tables: the filter's tables, as the server prints them.
        others: other filters, with their names; empty for none.
    """

    file: str
    position: int
    receives: bool
    applies: bool
    error: str
    waiting: str
    tables: str
    others: str


class Replica(ABC):
    """A server that replicates from binx, over a connection to it."""

    word: str
    side: str
    by_gtid: tuple[str, ...]
    other_filters: tuple[str, ...] = _OTHER_FILTERS

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    @abstractmethod
    def executed(self) -> GtidSet:
        """The GTIDs that it has; of MariaDB the last one of each domain."""

    @abstractmethod
    def declare(self, held: GtidSet) -> None:
        """Let it know the GTIDs of the backup that it was restored from.

        Raises:
            UsageError: it has others already.
        """

    @abstractmethod
    def _named(self, statement: str) -> str:
        """A statement for the channel, which goes in the place of ``{}``."""

    @abstractmethod
    def _filter(self, tables: Sequence[tuple[str, str]]) -> None: ...

    def refuse_unfit(self) -> None:
        """Raise UsageError if it replicates from elsewhere too, or passes over what it cannot apply."""
        names = ", ".join(map(quote_text, _STRICT))
        statement = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"
        for row in self._connection.rows(statement, ("Variable_name", "Value")):
            if row["Value"].upper() != _STRICT[row["Variable_name"]]:
                raise UsageError(
                    "expected a server that applies everything or stops, found"
                    f" {row['Variable_name']}={row['Value']}; set it to {_STRICT[row['Variable_name']]}"
                )
        for channel, progress in self._channels():
            if channel != CHANNEL and (progress.receives or progress.applies):
                raise UsageError(
                    f"expected a server that nobody else writes to, found one that replicates, by the channel"
                    f" {channel or 'without a name'}; stop it first (STOP {self.word})"
                )

    def progress(self) -> ReplicaProgress | None:
        """Return how far it is; None if it has no channel of binx."""
        return dict(self._channels()).get(CHANNEL)

    def connect(self, source: ServedSource, tables: Sequence[tuple[str, str]]) -> None:
        """Begin to replicate, or go on, where its GTIDs are.

        Args:
            tables: database and name of those to replay; none for all.

        Raises:
            UsageError: it filters what it replicates otherwise.
        """
        self.halt()
        settings = [
            f"_HOST={quote_text(source.host)}",
            f"_PORT={source.port}",
            f"_USER={quote_text(source.user)}",
            f"_PASSWORD={quote_text(source.password)}",
            f"_SSL={int(source.has_tls)}",
            "_CONNECT_RETRY=1",
            "_HEARTBEAT_PERIOD=5",
            *self.by_gtid,
        ]
        if source.has_tls:
            settings.append("_SSL_VERIFY_SERVER_CERT=0")
        joined = ", ".join(f"{self.side}{setting}" for setting in settings)
        self._change(joined)
        self._filter(tables)
        if (progress := self.progress()) is not None and progress.others:
            self._forget()
            raise UsageError(
                f"expected a server that replicates everything, found {progress.others}; restart it without"
                " these filters"
            )
        self._execute(self._named(f"START {self.word} {{}}"))

    def halt(self) -> None:
        """Stop its threads; another :meth:`connect` goes on."""
        if self.progress() is not None:
            self._execute(self._named(f"STOP {self.word} {{}}"))

    def disconnect(self) -> None:
        """End the replication; it is a server of its own again."""
        if self.progress() is not None:
            self._execute(self._named(f"STOP {self.word} {{}}"))
            self._filter(())
            self._forget()

    @abstractmethod
    def _change(self, settings: str) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...

    @abstractmethod
    def _channels(self) -> list[tuple[str, ReplicaProgress]]: ...

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def _rows_of(self, statement: str, channel: str, source: str) -> Iterator[tuple[str, ReplicaProgress]]:
        """Read the status of all channels.

        Args:
            channel: name of the column with the channel.
            source: what the other columns call the source.
        """
        word = self.word.capitalize()
        columns = [
            f"{word}_IO_Running",
            f"{word}_SQL_Running",
            "Last_IO_Errno",
            "Last_IO_Error",
            "Last_SQL_Errno",
            "Last_SQL_Error",
            f"Relay_{source}_Log_File",
            f"Exec_{source}_Log_Pos",
            "Replicate_Do_Table",
            *self.other_filters,
        ]
        for row in self._connection.rows(statement, (channel, *columns)):
            receives, applies, io_number, io_error, number, error, file, position, tables = (
                row[column] for column in columns[: -len(self.other_filters)]
            )
            connecting = receives not in ("Yes", "No")
            failed = error if number != "0" else io_error if io_number != "0" and receives == "No" else ""
            yield (
                row[channel],
                ReplicaProgress(
                    file,
                    int(position),
                    receives != "No",
                    applies != "No",
                    failed,
                    io_error if connecting else "",
                    tables,
                    ", ".join(f"{name}={row[name]}" for name in self.other_filters if row[name]),
                ),
            )


class MySQLReplica(Replica):
    """A MySQL server as a replica."""

    word, side = "REPLICA", "SOURCE"
    by_gtid = ("_RETRY_COUNT=86400", "_AUTO_POSITION=1")
    other_filters = (*_OTHER_FILTERS, "Replicate_Rewrite_DB")

    @property
    def executed(self) -> GtidSet:
        """The GTIDs that it has."""
        (row,) = self._connection.rows("SELECT @@GLOBAL.gtid_executed AS gtids", ("gtids",))
        return GtidSet.parse(row["gtids"]) if row["gtids"].strip() else GtidSet()

    def declare(self, held: GtidSet) -> None:
        """Let it know the GTIDs of the backup; see :meth:`Replica.declare`."""
        (row,) = self._connection.rows("SELECT @@GLOBAL.gtid_mode AS mode", ("mode",))
        if row["mode"] not in ("ON", "ON_PERMISSIVE"):
            raise UsageError(
                f"expected a target with GTIDs, as the logs have them, found gtid_mode={row['mode']}; set it"
                " to ON_PERMISSIVE or ON"
            )
        executed = self.executed
        if missing := held - executed:
            if executed:
                raise UsageError(
                    f"the target lacks {missing}, which the backup holds: restore the backup first, or, if it"
                    f" is restored, run RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '{held}'"
                )
            self._execute(f"SET GLOBAL gtid_purged = '{held}'")

    def _named(self, statement: str) -> str:
        return statement.format(f"FOR CHANNEL '{CHANNEL}'")

    def _change(self, settings: str) -> None:
        self._execute(self._named(f"CHANGE REPLICATION SOURCE TO {settings} {{}}"))

    def _filter(self, tables: Sequence[tuple[str, str]]) -> None:
        names = ", ".join(f"{quoted(db)}.{quoted(table)}" for db, table in tables)
        self._execute(self._named(f"CHANGE REPLICATION FILTER REPLICATE_DO_TABLE=({names}) {{}}"))

    def _forget(self) -> None:
        self._execute(self._named("RESET REPLICA ALL {}"))

    def _channels(self) -> list[tuple[str, ReplicaProgress]]:
        channels = list(self._rows_of("SHOW REPLICA STATUS", "Channel_Name", "Source"))
        return [(name, self._explained(progress, name)) for name, progress in channels]

    def _explained(self, progress: ReplicaProgress, channel: str) -> ReplicaProgress:
        """Name the error of the worker that failed, of which the status says only that there is one."""
        if not progress.error:
            return progress
        statement = (
            "SELECT LAST_ERROR_MESSAGE AS message"
            " FROM performance_schema.replication_applier_status_by_worker"
            f" WHERE CHANNEL_NAME = {quote_text(channel)} AND LAST_ERROR_NUMBER <> 0"
        )
        # The account may not be allowed to see it.
        with suppress(ServerError):
            for row in self._connection.rows(statement, ("message",)):
                return progress._replace(error=row["message"])
        return progress


class MariaDBReplica(Replica):
    """A MariaDB server as a replica."""

    word, side = "SLAVE", "MASTER"
    by_gtid = ("_USE_GTID=slave_pos",)

    @property
    def executed(self) -> GtidSet:
        """The last GTID of each domain that it has replicated, or was told that it has."""
        (row,) = self._connection.rows("SELECT @@GLOBAL.gtid_slave_pos AS gtids", ("gtids",))
        return GtidSet.parse(row["gtids"]) if row["gtids"].strip() else GtidSet()

    def declare(self, held: GtidSet) -> None:
        """Let it know the GTIDs of the backup; see :meth:`Replica.declare`."""
        executed = self.executed
        if held and not executed:
            self._execute(f"SET GLOBAL gtid_slave_pos = '{domain_positions(held)}'")
        elif domain_positions([*executed, *held]) != domain_positions(executed):
            raise UsageError(
                f"the target is at {domain_positions(executed)}, before the backup, which is at"
                f" {domain_positions(held)}: restore the backup first, or, if it is restored, run"
                f" SET GLOBAL gtid_slave_pos = '{domain_positions(held)}'"
            )

    def _named(self, statement: str) -> str:
        return statement.format(f"'{CHANNEL}'")

    def _change(self, settings: str) -> None:
        self._execute(self._named(f"CHANGE MASTER {{}} TO {settings}"))

    def _filter(self, tables: Sequence[tuple[str, str]]) -> None:
        names = ",".join(f"{db}.{table}" for db, table in tables)
        self._execute(f"SET SESSION default_master_connection = '{CHANNEL}'")
        self._execute(f"SET GLOBAL replicate_do_table = {quote_text(names)}")

    def _forget(self) -> None:
        self._execute(self._named("RESET SLAVE {} ALL"))

    def _channels(self) -> list[tuple[str, ReplicaProgress]]:
        return list(self._rows_of("SHOW ALL SLAVES STATUS", "Connection_name", "Master"))


@contextmanager
def connected_replica(login: Login, flavour: Flavour) -> Iterator[Replica]:
    """Connect to a server that is to be a replica.

    Args:
        flavour: that of the logs.

    Raises:
        UnsupportedError: it is of the other kind, or too old.
    """
    connection = Connection(login, GRANTS, _ANSWER_SECONDS)
    try:
        (row,) = connection.rows("SELECT @@version AS version", ("version",))
        version = row["version"]
        found = flavour_of(version)
        if found is not flavour or (found is Flavour.MYSQL and split_version(version) < _SINCE):
            wanted = "MariaDB" if flavour is Flavour.MARIADB else "MySQL 8.0.23 or later"
            raise UnsupportedError(
                f"expected a target of {wanted}, as the logs are, found {version}; the other ways that"
                " binx plan prints may lead there",
                path=login.server,
            )
        yield (MariaDBReplica if found is Flavour.MARIADB else MySQLReplica)(connection)
    finally:
        connection.close()
