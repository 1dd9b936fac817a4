"""``plan --execute`` brings restored servers to random targets, whatever is killed on the way."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from testdata.programs import find_newer_mariadb
from testdata.relay import linked
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.small import drop_databases
from tests.cli.process import BINX, Ended, binx
from tests.live.logs import needed
from tests.live.recovering import Backup, Moment, dump, moment_of, state_of, write
from tests.live.serve.replicas import SECONDS, bring_to, own_address, self_signed
from tests.report.test_records import check

SEED = os.environ.get("SEED", "execute")
TARGETS = int(os.environ.get("TARGETS", "2"))
KILLS = int(os.environ.get("KILLS", "2"))
MOMENTS = 5
MARKS = 400
VICTIMS = ("binx", "server", "session", "connection")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "point-in-time-recovery.md"
GRANTS: dict[type[Server], str] = {
    MySQLServer: r"^GRANT .*_ADMIN.* TO binx@localhost;$",
    MariaDBServer: r"^GRANT .* SLAVE ADMIN.* TO binx@localhost;$",
}
MYSQL_STOP = "STOP REPLICA FOR CHANNEL 'binx'; RESET REPLICA ALL FOR CHANNEL 'binx'"
MARIADB_STOP = "STOP SLAVE 'binx'; RESET SLAVE 'binx' ALL"
TABLES = ("t1", "t2", "t3")
DURABLE = ("--server-id=98", "--innodb-flush-log-at-trx-commit=2")
"""What a killed process has written is there."""
KINDS: dict[str, type[MySQLServer | MariaDBServer]] = {
    "mysql": MySQLServer,
    "mariadb": MariaDBServer,
    "newer mariadb": MariaDBServer,
}
PIDFD_GETFD = 438
"""A system call that Python does not have."""


def numbers(few: int, all_of_them: int) -> list[Any]:
    """Numbers of rounds, of which the sweep has most."""
    return [*range(few), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(few, all_of_them))]


class Stop(NamedTuple):
    """Where a replica of the source was stopped.

    Attributes:
        asked: the options that name the place to binx.
        state: the tables and GTIDs that the replica had.
    """

    asked: tuple[str, ...]
    state: dict[str, Any]


class History(NamedTuple):
    """A server with logs, a backup of it, where a replica was stopped, and a server to restore it to."""

    source: Server
    backup: Backup
    stops: list[Stop]
    target: Server
    socket: Path

    def words(self, *more: str | Path) -> list[str]:
        """The command that brings the target to a place."""
        logs = self.source.binlog_folder / "mysql-bin.index"
        words = ["plan", "--execute", "--json", "--backup", self.backup.path]
        words += ["--target", "mysql://root@localhost", "--socket", self.socket]
        return [*BINX, *map(str, [*words, *more, logs])]

    def execute(self, *more: str | Path) -> Ended:
        """Run the command to its end."""
        return binx(*self.words(*more)[len(BINX) :])

    def begin(self) -> subprocess.Popen[str]:
        """Start the command, and wait until the target has its logs, or it has ended."""
        process = subprocess.Popen(self.words(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if ": begins at " in line:
                break
        return process

    def restore(self) -> None:
        """Leave the target with what the backup has, and nothing of earlier replays."""
        stop = MYSQL_STOP if isinstance(self.target, MySQLServer) else MARIADB_STOP
        if self.channels():
            self.target.sql(stop)
        self.target.reset()
        if isinstance(self.target, MariaDBServer):
            self.target.sql("SET GLOBAL gtid_slave_pos = ''")
        drop_databases(self.target)
        self.target.reset()
        self.target.script(self.backup.path.read_bytes())

    def channels(self) -> str:
        """What the target replicates."""
        mysql = isinstance(self.target, MySQLServer)
        return self.target.sql("SHOW REPLICA STATUS" if mysql else "SHOW ALL SLAVES STATUS")

    def link(self) -> None:
        """Let the socket's name that the command has lead to the target, also after it was started again."""
        self.socket.unlink(missing_ok=True)
        self.socket.symlink_to(self.target.socket)


@pytest.fixture(params=list(KINDS), scope="module")
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    programs = find_newer_mariadb() if request.param.startswith("newer") else None
    if request.param.startswith("newer") and programs is None:
        pytest.skip("no newer MariaDB is unpacked")
    made = needed(KINDS[request.param])
    folder = tmp_path_factory.mktemp("execute")
    rng = random.Random(f"{SEED} {request.param}")
    with ExitStack() as stack:
        source, replica = stack.enter_context(linked(made, folder, programs=programs))
        replica.sql("STOP REPLICA" if made is MySQLServer else "STOP SLAVE")
        target = stack.enter_context(made(folder / "target", DURABLE, programs))
        source.sql("CREATE DATABASE shop")
        for name in TABLES:
            source.sql(f"CREATE TABLE shop.{name} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), n INT)")
        source.sql("CREATE TABLE shop.marks (id INT AUTO_INCREMENT PRIMARY KEY)")
        write(source, rng, 0)
        first = moment_of(source, 0)
        backup = dump(source, folder)
        moments = []
        for number in range(1, MOMENTS + 1):
            write(source, rng, number)
            source.sql("INSERT INTO marks VALUES (NULL);" * MARKS, "shop")
            moments.append(moment_of(source, number))
        source.flush_logs()
        stops = stops_of(replica, first, moments, rng)
        made_history = History(source, backup, stops, target, folder / "socket")
        made_history.link()
        yield made_history


def stops_of(replica: Server, first: Moment, moments: list[Moment], rng: random.Random) -> list[Stop]:
    """Stop a replica of the source at random transactions; the last stop is that at the end."""
    begin, end = int(last_number(first.following)), int(last_number(moments[-1].gtid))
    prefix = first.following.removesuffix(str(begin))
    times = {int(last_number(moment.gtid)): moment.time for moment in moments[:-1]}
    drawn = rng.sample(range(begin, end), max(TARGETS - len(times), TARGETS // 2))
    stops = []
    for number in sorted({*times, *drawn, end}):
        bring_to(replica, f"{prefix}{number}")
        state = replicated(replica)
        asked = rng.choice([("--to-gtid", f"{prefix}{number}"), ("--before-gtid", f"{prefix}{number + 1}")])
        if number in times and number not in drawn:
            asked = "--to-time", times[number]
        stops.append(Stop(asked if number < end else (), state))
    *others, last = stops
    rng.shuffle(others)
    return [*others, last]


def last_number(gtid: str) -> str:
    return re.split("[:-]", gtid)[-1]


def replicated(server: Server) -> dict[str, Any]:
    """The tables of a replica, and the GTIDs of what it has."""
    state = state_of(server)
    if isinstance(server, MariaDBServer):
        state["GTIDs"] = server.query("SELECT @@GLOBAL.gtid_slave_pos")[0][0]
    return state


def is_there(history: History, stop: Stop, ended: Ended) -> dict[str, Any]:
    """What the command said; the target has what the replica had, and no replication is left."""
    assert ended.code == 0, ended.err
    assert replicated(history.target) == stop.state, ended.err
    assert not history.channels()
    plan, replayed = map(json.loads, ended.lines)
    check("plan", plan)
    check("replayed", replayed)
    assert replayed["complete"]
    assert isinstance(replayed, dict)
    return replayed


@pytest.mark.parametrize("number", numbers(TARGETS, 30))
def test_a_restored_server_is_brought_to_where_a_replica_was_stopped(history: History, number: int) -> None:
    stop = history.stops[number % (len(history.stops) - 1)]
    history.restore()
    replayed = is_there(history, stop, history.execute(*stop.asked))
    assert replayed["transactions"]
    again = history.execute(*stop.asked)
    assert again.code == 0, again.err
    assert replicated(history.target) == stop.state


@pytest.mark.parametrize("number", numbers(KILLS, 20))
def test_it_goes_on_whatever_is_killed(history: History, number: int) -> None:
    rng = random.Random(f"{SEED} kill {number}")
    history.restore()
    counts = sorted(rng.sample(range(1, MOMENTS * MARKS // 2), len(VICTIMS)))
    killed = []
    process = history.begin()
    try:
        for victim, count in zip(rng.choices(VICTIMS, k=len(VICTIMS)), counts, strict=True):
            wait_for_rows(history, process, count)
            if process.poll() is not None:
                # A replica applies what it has received while binx or the connection is away.
                break
            killed.append(victim)
            if victim == "binx":
                process.kill()
                process.wait()
                process = history.begin()
            elif victim == "server":
                history.target.kill()
                has_channel = started_again(history.target)
                history.link()
                if not has_channel:
                    process.kill()
                    process.wait()
                    process = history.begin()
            elif victim == "session":
                kill_sessions(history.target)
            else:
                cut_connections(process)
        said = process.communicate(timeout=SECONDS)[1]
        assert process.returncode == 0, said
    finally:
        process.kill()
        process.wait()
    print("killed:", *killed)
    assert killed
    is_there(history, history.stops[-1], history.execute())


def started_again(target: Server) -> bool:
    """Start a server that was killed, and return whether it still has its channel.

    MariaDB begins its relay logs again at every start, and does not write down that it has until it has
    applied some of them. Killed before that, it does not start again until what the page names is removed.
    """
    try:
        target.start()
    except ServerError as error:
        if not isinstance(target, MariaDBServer) or "relay log initialization" not in str(error):
            raise
        removed = re.search(r"remove `(.*?)`, `(.*?)` and `(.*?)`", PAGE.read_text())
        assert removed is not None
        for name in removed.groups():
            (target.binlog_folder / name).unlink()
        target.start()
        return False
    return True


def wait_for_rows(history: History, process: subprocess.Popen[str], count: int) -> None:
    """Wait until the target has some rows more, or the replay has ended."""
    while process.poll() is None:
        if int(history.target.query("SELECT COUNT(*) FROM shop.marks")[0][0] or 0) >= count:
            return


def kill_sessions(server: Server) -> None:
    """End all sessions of clients."""
    own = "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()"
    for (number,) in server.query(own):
        with suppress(ServerError):
            server.sql(f"KILL {number}")


def cut_connections(process: subprocess.Popen[str]) -> None:
    """Cut a process's connections over the network, as a failure of it does."""
    call, own = ctypes.CDLL(None).syscall, os.pidfd_open(process.pid)
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(OSError):
            if str(file.readlink()).startswith("socket:"):
                with socket.socket(fileno=call(PIDFD_GETFD, own, int(file.name), 0)) as one:
                    if one.family == socket.AF_INET and one.getpeername():
                        one.shutdown(socket.SHUT_RDWR)
    os.close(own)


def test_one_table_alone_is_brought_forward_and_what_that_tears_is_said(history: History) -> None:
    history.restore()
    others = {
        name: value for name, value in state_of(history.target).items() if name not in ("shop.t1", "GTIDs")
    }
    ended = history.execute("--tables", "shop.t1")
    assert ended.code == 0, ended.err
    state = state_of(history.target)
    assert state["shop.t1"] == history.stops[-1].state["shop.t1"]
    assert {name: state[name] for name in others} == others
    assert "all other tables stay as in the backup" in ended.err
    assert "warning: 0 transactions" not in ended.err


def test_a_target_reaches_binx_at_another_address_with_tls(history: History, tmp_path: Path) -> None:
    history.restore()
    host = own_address()
    certificate, key = self_signed(tmp_path, "cert", host)
    ended = history.execute("--listen", f"{host}:0", "--listen-cert", certificate, "--listen-key", key)
    is_there(history, history.stops[-1], ended)


def test_a_target_that_is_not_the_backup_is_refused(history: History) -> None:
    history.restore()
    history.target.reset()
    if isinstance(history.target, MySQLServer):
        history.target.sql("CREATE DATABASE own")
    else:
        history.target.sql("SET GLOBAL gtid_slave_pos = '0-10-1'")
    ended = history.execute()
    assert ended.code == 2
    assert "restore the backup first" in ended.err


def test_a_target_that_is_after_the_end_is_refused(history: History) -> None:
    history.restore()
    last, earlier = history.stops[-1], history.stops[0]
    is_there(history, last, history.execute())
    ended = history.execute(*earlier.asked)
    assert ended.code == 2
    assert "restore the backup again" in ended.err
    assert replicated(history.target) == last.state


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("replicate-ignore-db=shop", "Replicate_Ignore_DB=shop"),
        ("slave-skip-errors=1062", "skip_errors=1062"),
    ],
)
def test_a_target_that_passes_over_something_is_refused(history: History, option: str, expected: str) -> None:
    history.restore()
    history.target.stop()
    mysql = isinstance(history.target, MySQLServer)
    history.target.start([f"--{option.replace('slave', 'replica') if mysql else option}"])
    history.link()
    try:
        ended = history.execute()
        assert ended.code == 2
        assert expected in ended.err
        assert not history.channels()
    finally:
        history.target.stop()
        history.target.start()
        history.link()


def test_what_the_target_has_written_itself_is_named(history: History) -> None:
    if not isinstance(history.target, MySQLServer):
        pytest.skip("the GTIDs that MariaDB has replicated do not have its own")
    history.restore()
    history.target.sql("CREATE DATABASE own")
    ended = history.execute()
    assert ended.code == 0, ended.err
    uuid = history.target.query("SELECT @@server_uuid")[0][0]
    assert f"in neither backup nor logs: {uuid}:1" in ended.err


def test_an_account_with_the_grants_that_are_documented_is_enough(history: History) -> None:
    history.restore()
    (grants,) = re.findall(GRANTS[type(history.target)], PAGE.read_text(), re.MULTILINE)
    user = "DROP USER IF EXISTS binx@localhost; CREATE USER binx@localhost IDENTIFIED BY 'secret'"
    history.target.sql(f"SET sql_log_bin = 0; {user}; {grants}")
    words = history.words()
    words[words.index("mysql://root@localhost")] = "mysql://binx@localhost"
    secret = dict(os.environ, MYSQL_PWD="secret")
    done = subprocess.run(words, env=secret, capture_output=True, text=True, check=False)
    is_there(history, history.stops[-1], Ended(done.returncode, done.stdout, done.stderr))
