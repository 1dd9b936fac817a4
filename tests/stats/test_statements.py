"""Figures by statement, beside what the data set of the same logs has of each statement."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.parquet import to_parquet
from binx.errors import UsageError
from binx.event.statement_digest import digest_of, digest_text
from binx.log.chain.inputs import open_chain
from binx.stats import breakdown as breakdown_module
from binx.stats.dimensions import Dimension
from tests.stats.logs import figures_of

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
LOGS = [
    *(sorted((TESTDATA / server / "shop").glob("mysql-bin.0*")) for server in ("mysql-9.7", "mariadb-10.11")),
    [TESTDATA / "mysql-9.7" / "small" / "statements.binlog"],
]


def broken_down(paths: list[Path], *by: Dimension) -> SimpleNamespace:
    with open_chain([str(path) for path in paths]) as chain:
        found: SimpleNamespace = figures_of([ends.file for ends in chain], by=by).breakdown
    return found


@pytest.mark.parametrize("paths", LOGS, ids=lambda paths: "-".join(paths[0].parts[-3:-1]))
def test_each_statement_has_the_rows_that_the_data_set_has_of_it(paths: list[Path], tmp_path: Path) -> None:
    with open_chain([str(path) for path in paths]) as chain:
        list(
            to_parquet(
                [ends.file for ends in chain],
                tmp_path,
                options=ParquetOptions(statements=StatementTexts.TEXT),
            )
        )
    digests: dict[tuple[int, int], str | None] = defaultdict(lambda: None)
    statements: dict[str | None, int] = defaultdict(int)
    for path in (tmp_path / "statements").glob("*"):
        for one in pq.read_table(path).to_pylist():
            if one["kind"] != "other":
                digest = digest_of(digest_text(one["sql"]))
                digests[one["commit_version"], one["ordinal"]] = digest
                statements[digest] += 1
    rows: dict[str | None, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    untold = set()
    for path in (tmp_path / "changes").rglob("*.parquet"):
        names = ["_commit_version", "_statement", "_change_type"]
        for one in pq.read_table(path, columns=names, partitioning=None).to_pylist():
            place = one["_commit_version"], one["_statement"]
            rows[digests[place]][one["_change_type"]] += 1
            if digests[place] is None:
                untold.add(place)
    if untold:
        statements[None] = len(untold)
    found = {group.digest: group for group in broken_down(paths, Dimension.STATEMENT).groups}
    assert {digest: group.statements for digest, group in found.items()} == statements
    for group in found.values():
        had = rows[group.digest]
        assert (group.inserts, group.updates, group.deletes) == (
            had["insert"],
            had["update_postimage"],
            had["delete"],
        )
    assert any(group.rows for group in found.values()) or paths[0].parent.name == "small"


def test_statements_are_grouped_over_time_too_and_not_by_what_they_do_not_divide() -> None:
    whole = {group.digest: group.bytes for group in broken_down(LOGS[1], Dimension.STATEMENT).groups}
    sums: dict[str | None, int] = defaultdict(int)
    for group in broken_down(LOGS[1], Dimension.DAY, Dimension.STATEMENT).groups:
        sums[group.digest] += group.bytes
    assert sums == whole
    with pytest.raises(UsageError, match="cannot be combined"):
        broken_down(LOGS[1], Dimension.STATEMENT, Dimension.TABLE)


def test_of_too_many_statements_those_with_most_bytes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = broken_down(LOGS[1], Dimension.STATEMENT)
    monkeypatch.setattr(breakdown_module, "GROUPS_MAXIMUM", 8 * 10)
    monkeypatch.setattr(breakdown_module, "_PART_ROWS_MAXIMUM", 8)
    few = broken_down(LOGS[1], Dimension.STATEMENT)
    assert (whole.complete, few.complete) == (True, False)
    assert len(few.groups) <= 20
    assert few.groups[0] == whole.groups[0]
