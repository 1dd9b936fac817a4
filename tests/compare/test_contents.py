"""Digests of what transactions did: the same however a log's row changes come in pieces."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.compare.contents import digested
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices import changes
from binx.slices.search import Search
from tests.conftest import TESTDATA

LOGS = [
    *(TESTDATA / server / "shop" / "mysql-bin.000001" for server in ("mysql-9.7", "mariadb-10.11")),
    TESTDATA / "mysql-9.7" / "small" / "all_types.binlog",
    TESTDATA / "mariadb-10.11" / "small" / "savepoints_rows.binlog",
]


def digests(log: Path) -> list[tuple[str | None, bytes]]:
    with open_chain([str(log)]) as chain:
        return list(digested(Search(chain, Selection()).selected(), Catalog(), set()))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parts[-3]}-{log.stem}")
def test_pieces_of_one_row_give_the_same_digests(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = digests(log)
    monkeypatch.setattr(changes, "PIECE_ROWS", 1)
    assert digests(log) == found


def test_every_transaction_has_one_and_those_with_other_rows_another() -> None:
    found = digests(LOGS[0])
    with open_chain([str(LOGS[0])]) as chain:
        (table,) = chain[0].file.scan()
        assert [gtid for gtid, _ in found] == [table.gtid(index) for index in range(len(table))]
    assert len({digest for _, digest in found}) == len(found)
