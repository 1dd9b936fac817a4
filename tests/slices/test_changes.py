"""Row changes and statements come in the order of the log, whichever pieces they are decoded in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.slices import changes
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, RowTexts
from binx.slices.json_lines import JsonRows
from binx.slices.search import Search
from tests.conftest import TESTDATA

LOGS = [
    TESTDATA / server / "small" / f"{name}.binlog"
    for server in ("mysql-9.7", "mariadb-10.11")
    for name in ("savepoints", "xa", "statements", "ddl")
]


def items(path: str, *, backwards: bool) -> Iterator[tuple[str, bytes | int]]:
    """What a log holds, in order; backwards, changes without a statement between them are newest first."""
    with open_chain([path]) as chain:
        newest: list[bytes] = []
        for item in ordered_changes(
            Search(chain, Selection()).selected(),
            reading_in_pieces(Catalog(), undone=True),
            JsonRows(lines=True),
            backwards=backwards,
            facts=("gtid",),
        ):
            if isinstance(item, RowTexts):
                lines = b"".join(item.text()).splitlines()
                newest = [*lines, *newest] if backwards else [*newest, *lines]
                continue
            yield from (("row", line) for line in newest)
            newest = []
            if isinstance(item, Begin):
                yield "begin", item.version
            elif isinstance(item, Statement):
                yield "statement", item.position


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_statement_stands_between_the_changes_before_it_and_those_after_it(
    path: Path, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = list(items(str(path), backwards=backwards))
    positions = [value for kind, value in together if kind == "statement" and isinstance(value, int)]
    assert positions == sorted(positions)
    monkeypatch.setattr(changes, "PIECE_ROWS", 1)
    assert list(items(str(path), backwards=backwards)) == together
