"""Servers that take over from each other in turn: tables are those of the last one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.lake.at_moment import table_at
from binx.lake.options import LoadOptions
from binx.lake.summary import LoadSummary
from binx.log.selection.selection import Selection
from binx.spark.load_run import load
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.exports import export
from tests.live.lake.failovers import follow, made_again
from tests.live.logs import needed
from tests.live.tables_at_end import differences


class Story:
    """What a row of servers did: their logs in the order in which they took over."""

    def __init__(self, kind: type[Server], folder: Path, stack: ExitStack) -> None:
        self.kind, self.folder, self.stack = kind, folder, stack
        self.servers: list[Server] = []
        self.taken: list[tuple[Server, list[Path]]] = []
        self.turn, self.began = 0, int(time.time()) + 10_000

    def start(self, number: int) -> Server:
        updates = ("--log-slave-updates",) if self.kind is MariaDBServer else ()
        server = self.kind(self.folder / f"server{len(self.servers)}", (f"--server-id={number}", *updates))
        self.servers.append(self.stack.enter_context(server))
        return server

    def rebuilt(self, number: int, source: Server, uuid: str = "") -> Server:
        server = made_again(self.folder / f"server{len(self.servers)}", self.kind, number, source, uuid)
        self.stack.callback(server.stop)
        self.servers.append(server)
        return server

    def work(self, primary: Server, what: str = "kept") -> None:
        """Transactions of a primary."""
        self.turn += 1
        turn = self.turn
        # MariaDB's times are whole seconds, and the turns take less.
        primary.sql(
            f"SET timestamp = {self.began + 10 * turn};"
            f"INSERT INTO shop.orders VALUES ({turn}0, '{what} {turn}'), ({turn}1, '{what} {turn}');"
            f"UPDATE shop.orders SET status = '{what} {turn}' WHERE id % 10 = 0 AND id < {turn}0;"
            f"DELETE FROM shop.orders WHERE id = {turn}0 - 9"
        )

    def begin(self, primary: Server) -> None:
        primary.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(20));"
            "CREATE TABLE shop.notes (id INT PRIMARY KEY, note VARCHAR(20));"
            "INSERT INTO shop.notes VALUES (1, 'a')"
        )
        self.work(primary)


def switchovers(story: Story) -> tuple[Server, bool]:
    """A and B take turns, and nothing is lost."""
    a, b = story.start(1), story.start(2)
    story.begin(a)
    for primary, replica in ((a, b), (b, a), (a, b)):
        follow(replica, primary)
        story.work(replica)
    return b, False


def rebuilt(story: Story) -> tuple[Server, bool]:
    """Each server that died had transactions of its own, and is made again from the one that took over."""
    a, b = story.start(1), story.start(2)
    story.begin(a)
    follow(b, a)
    story.work(a, "lost")
    for number in (1, 2):
        story.work(b)
        after = story.rebuilt(number, b)
        story.work(b)
        follow(after, b)
        story.work(b, "lost")
        b = after
    story.work(b)
    return b, True


def reset(story: Story) -> tuple[Server, bool]:
    """As before, but a server that died is reset and repeats the other one's logs: it gives GTIDs again."""
    a, b = story.start(1), story.start(2)
    uuids = ["", ""]
    if story.kind is MySQLServer:
        uuids = [str(one.query("SELECT @@server_uuid")[0][0]) for one in (a, b)]
    story.begin(a)
    follow(b, a)
    story.work(a, "lost")
    for number in (1, 2):
        story.work(b)
        after = story.rebuilt(number, b, uuids[number - 1])
        story.work(b, "lost")
        b = after
        story.work(b)
    return b, True


def back_on_the_same_disk(story: Story) -> tuple[Server, bool]:
    """B took over in good order and died with transactions of its own; A goes on where it was."""
    a, b = story.start(1), story.start(2)
    story.begin(a)
    follow(b, a)
    story.work(b)
    follow(a, b)
    story.work(b, "lost")
    story.work(a)
    return a, True


def errant(story: Story) -> tuple[Server, bool]:
    """A died with transactions of its own and came back with them as a replica of B."""
    a, b = story.start(1), story.start(2)
    story.begin(a)
    follow(b, a)
    a.sql("INSERT INTO shop.orders VALUES (5, 'lost')")
    story.work(b)
    if story.kind is MySQLServer:
        follow(a, b)
    story.work(b)
    return b, True


STORIES = [switchovers, rebuilt, reset, back_on_the_same_disk, errant]


@pytest.fixture(params=[MySQLServer, MariaDBServer], scope="module")
def kind(request: pytest.FixtureRequest) -> type[Server]:
    return needed(request.param)


@pytest.fixture(params=STORIES, ids=lambda story: story.__name__, scope="module")
def told(
    request: pytest.FixtureRequest, kind: type[Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Story, Server, bool]]:
    with ExitStack() as stack:
        story = Story(kind, tmp_path_factory.mktemp("story"), stack)
        last, lost = request.param(story)
        for server in story.servers:
            server.flush_logs()
        yield story, last, lost


def loaded(spark: Any, output: Path, *folders: Path, **options: Any) -> LoadSummary:
    inputs = tuple(str(folder) for folder in folders)
    return load(LoadOptions(inputs, str(output), **options), lambda: nullcontext(spark))


@pytest.mark.parametrize(
    "steps", ["at once", "one by one", pytest.param("last first", marks=pytest.mark.sweep)]
)
def test_tables_are_those_of_the_last_server(
    told: tuple[Story, Server, bool], steps: str, tmp_path: Path, spark: Any
) -> None:
    story, last, lost = told
    places = [tmp_path / f"{number}" for number in range(len(story.servers))]
    for place, server in zip(places, story.servers, strict=True):
        export(place, server.binlogs()[:-1])
    output = tmp_path / "tables"
    if steps == "one by one":
        for count in range(1, len(places)):
            loaded(spark, output, *places[:count])
    elif steps == "last first":
        for first in range(len(places) - 1, 0, -1):
            loaded(spark, output, *places[first:])
    summary = loaded(spark, output, *places)
    found = differences(last, "shop", output)
    reasons = {table.name.table: table.reasons for table in summary.tables if table.reasons}
    print(summary.exit_code, reasons, found)
    assert found == ([], 0)
    assert summary.exit_code == (3 if lost else 0), reasons
    if lost:
        assert "never had" in str(reasons["orders"])
        assert "notes" not in reasons


@pytest.mark.parametrize("tables", [(), ("shop.orders",)], ids=["all tables", "one table"])
def test_a_table_at_a_moment_is_that_of_the_last_server(
    told: tuple[Story, Server, bool], tables: tuple[str, ...], tmp_path: Path
) -> None:
    story, last, lost = told
    lake = tmp_path / "lake"
    for server in story.servers:
        export(lake, server.binlogs()[:-1], Selection(tables=tables))
    found = table_at(str(lake), "shop.orders", None)
    rows = [(str(row["id"]), row["status"]) for row in found.rows.sort_by("id").to_pylist()]
    print(found.missing)
    assert rows == last.query("SELECT CAST(id AS CHAR), status FROM shop.orders ORDER BY id")
    assert any("never had" in text for text in found.missing) is lost


def test_servers_in_turn_that_do_not_repeat_each_other_name_the_option(tmp_path: Path, spark: Any) -> None:
    """Nothing tells the order of changes that only one log has: not the GTIDs of MariaDB either."""
    made = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(20))"
    places = [tmp_path / "1", tmp_path / "2"]
    with ExitStack() as stack:
        story = Story(needed(MariaDBServer), tmp_path / "servers", stack)
        servers = [story.start(1), story.start(2)]
        servers[0].sql(made)
        servers[1].sql(f"SET sql_log_bin = 0; {made}")
        for turn in range(3):
            change = f"INSERT INTO shop.orders VALUES ({turn}, ''); UPDATE shop.orders SET status = '{turn}'"
            for server in servers:
                is_primary = server is servers[turn % 2]
                server.sql(f"SET gtid_seq_no = {10 * turn + 10}, sql_log_bin = {int(is_primary)}; {change}")
        for place, server in zip(places, servers, strict=True):
            server.flush_logs()
            export(place, server.binlogs()[:-1])
    summary = loaded(spark, tmp_path / "tables", *places)
    [reasons] = [table.reasons for table in summary.tables if table.name.table == "orders"]
    assert summary.exit_code == 3
    assert "--chain says which comes first" in str(reasons)
