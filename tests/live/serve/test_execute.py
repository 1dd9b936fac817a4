"""``plan --execute`` brings restored servers to random targets, whatever is killed on the way."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from testdata.programs import find_newer_mariadb
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.small import drop_databases
from tests.cli.process import BINX, Ended
from tests.live.logs import needed
from tests.live.recovering import Backup, Moment, dump, moment_of, state_of, write
from tests.live.serve.replicas import SECONDS
from tests.report.test_records import check

SEED = os.environ.get("SEED", "execute")
TARGETS = int(os.environ.get("TARGETS", "2"))
KILLS = int(os.environ.get("KILLS", "2"))
MOMENTS = 5
PAGE = Path(__file__).resolve().parents[3] / "docs" / "point-in-time-recovery.md"
GRANTS: dict[type[Server], str] = {
    MySQLServer: r"^GRANT .*_ADMIN.* TO binx@localhost;$",
    MariaDBServer: r"^GRANT .* SLAVE ADMIN.* TO binx@localhost;$",
}
MYSQL_STOP = "STOP REPLICA FOR CHANNEL 'binx'; RESET REPLICA ALL FOR CHANNEL 'binx'"
MARIADB_STOP = "STOP SLAVE 'binx'; RESET SLAVE 'binx' ALL"
TABLES = ("t1", "t2", "t3")
KINDS: dict[str, type[MySQLServer | MariaDBServer]] = {
    "mysql": MySQLServer,
    "mariadb": MariaDBServer,
    "newer mariadb": MariaDBServer,
}


def numbers(few: int, all_of_them: int) -> list[Any]:
    """Numbers of rounds, of which the sweep has most."""
    return [*range(few), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(few, all_of_them))]


class History(NamedTuple):
    """A server with logs, a backup of it, later moments, and another server to restore it to."""

    source: Server
    backup: Backup
    moments: list[Moment]
    target: Server
    socket: Path

    def words(self, *more: str | Path) -> list[str]:
        """The command that brings the target to a moment."""
        logs = self.source.binlog_folder / "mysql-bin.index"
        words = [
            "plan",
            "--execute",
            "--json",
            "--backup",
            self.backup.path,
            "--target",
            "mysql://root@localhost",
        ]
        return [*BINX, *map(str, [*words, "--socket", self.socket, *more, logs])]

    def execute(self, *more: str | Path) -> Ended:
        """Run the command to its end."""
        done = subprocess.run(self.words(*more), capture_output=True, text=True, timeout=SECONDS, check=False)
        return Ended(done.returncode, done.stdout, done.stderr)

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
    with (
        made(folder / "source", programs=programs) as source,
        made(folder / "target", ["--server-id=98"], programs) as target,
    ):
        source.sql("CREATE DATABASE shop")
        for name in TABLES:
            source.sql(f"CREATE TABLE shop.{name} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), n INT)")
        source.sql("CREATE TABLE shop.marks (id INT AUTO_INCREMENT PRIMARY KEY)")
        write(source, rng, 0)
        backup = dump(source, folder)
        moments = []
        for number in range(1, MOMENTS + 1):
            write(source, rng, number)
            source.sql("INSERT INTO marks VALUES (NULL);" * 200, "shop")
            moments.append(moment_of(source, number))
        source.flush_logs()
        made_history = History(source, backup, moments, target, folder / "socket")
        made_history.link()
        yield made_history


def at(history: History, rng: random.Random) -> tuple[Moment, list[str]]:
    """A moment, and the options that name it."""
    number = rng.randrange(len(history.moments) - 1)
    moment = history.moments[number]
    return moment, rng.choice([["--to-gtid", moment.gtid], ["--before-gtid", moment.following]])


def is_there(history: History, moment: Moment, ended: Ended) -> dict[str, Any]:
    """What the command said; the tables and GTIDs are those of the moment, and nothing is left behind."""
    assert ended.code == 0, ended.err
    assert state_of(history.target) == moment.state, ended.err
    assert not history.channels()
    plan, replayed = map(json.loads, ended.lines)
    check("plan", plan)
    check("replayed", replayed)
    assert replayed["complete"]
    if isinstance(history.target, MariaDBServer):
        assert replayed["gtid_set"].replace("..", "-").split("-")[-1] == moment.gtid.split("-")[-1]
    assert isinstance(replayed, dict)
    return replayed


@pytest.mark.parametrize("number", numbers(TARGETS, 30))
def test_a_restored_server_is_brought_to_a_target(history: History, number: int) -> None:
    moment, asked = at(history, random.Random(f"{SEED} {number}"))
    history.restore()
    replayed = is_there(history, moment, history.execute(*asked))
    assert replayed["transactions"] > 100
    again = history.execute(*asked)
    assert again.code == 0, again.err
    assert state_of(history.target) == moment.state


@pytest.mark.parametrize("number", numbers(KILLS, 50))
def test_it_goes_on_whatever_is_killed(history: History, number: int) -> None:
    rng = random.Random(f"{SEED} kill {number}")
    moment = history.moments[-1]
    history.restore()
    for victim in rng.choices(["binx", "server", "connection"], k=2):
        process = subprocess.Popen(history.words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_rows(history, process, rng.randrange(1, 900))
            if victim == "binx":
                process.kill()
            elif victim == "server":
                history.target.kill()
                history.target.start()
                history.link()
            else:
                kill_connections(history.target)
            if victim != "binx":
                assert process.wait(SECONDS) == 0
        finally:
            process.kill()
            process.wait()
    is_there(history, moment, history.execute())


def wait_for_rows(history: History, process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until the target has some rows more, or the replay has ended."""
    while process.poll() is None:
        if int(history.target.query("SELECT COUNT(*) FROM shop.marks")[0][0] or 0) >= count:
            return


def kill_connections(server: Server) -> None:
    """End all connections of clients."""
    own = "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()"
    for (number,) in server.query(own):
        with suppress(ServerError):
            server.sql(f"KILL {number}")


def test_one_table_alone_is_brought_forward_and_what_that_tears_is_said(history: History) -> None:
    history.restore()
    others = {
        name: value for name, value in state_of(history.target).items() if name not in ("shop.t1", "GTIDs")
    }
    ended = history.execute("--tables", "shop.t1")
    assert ended.code == 0, ended.err
    state = state_of(history.target)
    assert state["shop.t1"] == history.moments[-1].state["shop.t1"]
    assert {name: state[name] for name in others} == others
    assert "all other tables stay as in the backup" in ended.err


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


def test_an_account_with_the_grants_that_are_documented_is_enough(history: History) -> None:
    history.restore()
    (grants,) = re.findall(GRANTS[type(history.target)], PAGE.read_text(), re.MULTILINE)
    user = "DROP USER IF EXISTS binx@localhost; CREATE USER binx@localhost IDENTIFIED BY 'secret'"
    history.target.sql(f"SET sql_log_bin = 0; {user}; {grants}")
    words = history.words()
    words[words.index("mysql://root@localhost")] = "mysql://binx@localhost"
    secret = dict(os.environ, MYSQL_PWD="secret")
    done = subprocess.run(words, env=secret, capture_output=True, text=True, check=False)
    is_there(history, history.moments[-1], Ended(done.returncode, done.stdout, done.stderr))
