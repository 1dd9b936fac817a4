"""The logs that a server writes of what a test has it run, and what is made of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import pytest

from testdata.programs import MissingServerError
from testdata.servers import Server
from testdata.small import drop_databases
from tests.exports import export

Kind = TypeVar("Kind", bound=Server)


def needed(kind: type[Kind]) -> type[Kind]:
    """A kind of server, without which a test skips."""
    try:
        kind.need_programs()
    except MissingServerError as error:
        pytest.skip(str(error))
    return kind


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
