"""The logs that a server writes of what a test has it run, and what is made of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import pytest

from testdata.programs import MissingServerError, Programs, find_mariadb, find_mysql
from testdata.servers import MariaDBServer, Server
from testdata.small import drop_databases
from tests.conftest import TESTDATA
from tests.exports import export

Kind = TypeVar("Kind", bound=Server)
_GTID_MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
_MOST_QUESTIONS = 10_000


def _folder(name: str, programs: Programs | None, default: str) -> Path:
    """The test data that a server of this machine's version made; else those of the default version."""
    folder = TESTDATA / f"{name}-{default if programs is None else programs.series}"
    return folder if folder.exists() else TESTDATA / f"{name}-{default}"


FOLDERS = {
    "mysql": _folder("mysql", find_mysql(), "9.7"),
    "mariadb": _folder("mariadb", find_mariadb(), "10.11"),
}
"""Test data by the name of the servers' client."""


def shop_of(server: Server) -> list[Path]:
    """The logs of the shop; skips where the test data of the server's version have none."""
    logs = sorted((FOLDERS[server.client] / "shop").glob("mysql-bin.0*"))
    return logs or pytest.skip(f"{FOLDERS[server.client].name} has no shop")


def needed(kind: type[Kind]) -> type[Kind]:
    """A kind of server, without which a test skips."""
    try:
        kind.need_programs()
    except MissingServerError as error:
        pytest.skip(str(error))
    return kind


def leaves_out_generated(server: Server) -> bool:
    """Whether a server logs generated columns with inserts only."""
    # 10.11 logs them, 11.8 does not.
    numbers = tuple(map(int, server.programs.series.split(".")))
    return isinstance(server, MariaDBServer) and numbers >= (11, 0)


def sections(path: Path) -> dict[str, str]:
    """The parts of a file of SQL, by the titles in brackets above them."""
    _, *parts = re.split(r"^\[(.*)\]$", path.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def empty(server: Server) -> None:
    """Leave a server without tables, logs and GTIDs."""
    drop_databases(server)
    server.reset()


def run_on_empty(server: Server, script: bytes) -> None:
    """Have the client run a script on a server that has nothing else."""
    empty(server)
    server.script(script)


def log_of(server: Server, statements: str) -> Path:
    """Run statements; gives the log that ends with them."""
    server.sql(statements)
    server.flush_logs()
    return server.binlogs()[-2]


def logs_of(server: Server, *parts: str) -> list[Path]:
    """The logs of an empty server that runs statements, a log for each part."""
    empty(server)
    return [log_of(server, part) for part in parts]


def export_last(server: Server, data: Path) -> None:
    """Close the server's log and put its changes into a data set."""
    server.flush_logs()
    export(data, server.binlogs()[-2:-1])


def set_gtid_mode(server: Server, wanted: str) -> None:
    """Have a server of MySQL number transactions otherwise, by all modes on the way; MariaDB has one way."""
    if isinstance(server, MariaDBServer):
        return
    # A server may still be rolling back what a client that has ended has left.
    for _ in range(_MOST_QUESTIONS):
        ((_, ongoing),) = server.query("SHOW GLOBAL STATUS LIKE 'Ongoing_anonymous_transaction_count'")
        if ongoing == "0":
            break
    ((now,),) = server.query("SELECT @@GLOBAL.gtid_mode")
    place, target = _GTID_MODES.index(str(now)), _GTID_MODES.index(wanted)
    while place != target:
        place += 1 if target > place else -1
        server.sql(f"SET GLOBAL gtid_mode = {_GTID_MODES[place]}")
