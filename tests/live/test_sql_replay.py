"""The SQL of a log, run by the client on an empty server of the same kind, makes the tables that the log's server had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binx.errors import RefusedError
from testdata.expected import rows_document
from testdata.servers import MariaDBServer, MySQLServer, Server
from testdata.small import drop_databases, split_sections
from tests.export.sql_of import sql_of

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
FOLDERS = {"mysql": TESTDATA / "mysql-9.7", "mariadb": TESTDATA / "mariadb-10.11"}
REFUSED = {
    ("mysql", "load_data"): "LOAD DATA",
    ("mysql", "all_types_minimal_metadata"): None,
    ("mariadb", "load_data"): "LOAD DATA",
    ("mariadb", "standalone"): "SYSTEM VERSIONING",
}
SMALL = [
    (flavour, path.stem)
    for flavour, folder in FOLDERS.items()
    for path in sorted((folder / "small").glob("*.binlog"))
    if REFUSED.get((flavour, path.stem), None) is None
]


@pytest.fixture(params=["mysql", "mariadb"])
def flavour(request: pytest.FixtureRequest) -> str:
    """Either kind of server."""
    name: str = request.param
    return name


def empty_server(flavour: str, request: pytest.FixtureRequest) -> Server:
    """A server as good as new."""
    server: Server = request.getfixturevalue(flavour)
    assert isinstance(server, MySQLServer | MariaDBServer)
    drop_databases(server)
    server.reset()
    return server


def test_the_shop_has_the_same_checksums_and_gtids(flavour: str, request: pytest.FixtureRequest) -> None:
    folder = FOLDERS[flavour] / "shop"
    expected = json.loads((folder / "expected" / "tables.json").read_text())
    server = empty_server(flavour, request)
    server.sql(sql_of(*sorted(folder.glob("mysql-bin.0*"))))
    found = rows_document(server)
    assert found["tables"].keys() == expected["tables"].keys()
    for name, table in expected["tables"].items():
        assert found["tables"][name]["create"] == table["create"]
        assert found["tables"][name]["checksum"] == table["checksum"], name
    assert found["gtid_executed"] == expected["gtid_executed"]


def without_spelling(table: dict[str, Any]) -> list[list[Any]]:
    """The rows, JSON documents as values: their text does not tell 99.0 from a DECIMAL with more zeros."""
    json_columns = [place for place, column in enumerate(table["columns"]) if column["type"] == "json"]
    rows = [list(row) for row in table["rows"]]
    for row in rows:
        for place in json_columns:
            row[place] = None if row[place] is None else json.loads(row[place])
    return rows


@pytest.mark.parametrize(("flavour", "name"), SMALL)
def test_a_small_log_has_the_same_rows_and_gtids(flavour: str, name: str, request: pytest.FixtureRequest) -> None:
    folder = FOLDERS[flavour] / "small"
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    sections = split_sections((folder / f"{name}.sql").read_text())
    server = empty_server(flavour, request)
    server.sql(sections["before"])
    try:
        server.sql(sql_of(folder / f"{name}.binlog"))
        found = rows_document(server)
    finally:
        server.sql(sections["after"])
    assert found["tables"].keys() == expected["tables"].keys()
    for table, facts in expected["tables"].items():
        assert found["tables"][table]["create"] == facts["create"]
        assert without_spelling(found["tables"][table]) == without_spelling(facts), table
    if expected["gtid_executed"]:
        assert found["gtid_executed"] == expected["gtid_executed"]
