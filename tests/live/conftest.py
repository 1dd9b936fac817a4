"""Real servers for the tests that ask one; where this machine has none, those tests skip and say why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.live.logs import needed

SMALL_EVENTS = ("--binlog-row-event-max-size=2048",)
"""The rows of one statement are cut into several events."""


@pytest.fixture(scope="session")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running MySQL server, one for all tests; a test that needs options of its own starts its own."""
    with needed(MySQLServer)(tmp_path_factory.mktemp("mysql"), SMALL_EVENTS) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running MariaDB server, one for all tests."""
    with needed(MariaDBServer)(tmp_path_factory.mktemp("mariadb"), SMALL_EVENTS) as server:
        yield server


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    """Either server, one after the other."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def replicas() -> Iterator[dict[str, Server]]:
    """The replicas that tests have started, by the name of their server program."""
    started: dict[str, Server] = {}
    yield started
    for server in started.values():
        server.stop()


@pytest.fixture
def replica(server: Server, replicas: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Another server of the same kind, on which logs of the first are run; one for all tests."""
    if server.daemon not in replicas:
        made = type(server)(tmp_path_factory.mktemp("replica"), programs=server.programs)
        made.start()
        replicas[server.daemon] = made
    return replicas[server.daemon]
