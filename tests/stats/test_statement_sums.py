"""Figures of statements, of damaged logs, and what the documentation says of figures."""

from __future__ import annotations

import inspect
import os
import re
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from binx.dataset.options import StatementTexts
from binx.errors import BinxError, UsageError
from binx.event.statement_digest import digest_of, digest_text
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.stats import breakdown as breakdown_module
from binx.stats import findings
from binx.stats.dimensions import MEASURES, Dimension
from binx.stats.gather import figures_json, gather
from tests.conftest import PROJECT, TESTDATA
from tests.exports import export
from tests.log.searching import Bytes
from tests.stats.logs import figures_of

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
    export(tmp_path, paths, statements=StatementTexts.TEXT)
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


PAGE = (PROJECT / "docs" / "statistics.md").read_text("utf-8")


def first_cells(title: str) -> list[str]:
    """The names in the first column of the table of a part of the page."""
    (part,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_every_name_of_the_json_is_explained() -> None:
    assert sorted(first_cells("As JSON")) == sorted(gather([]))


def test_every_warning_is_explained() -> None:
    codes = re.findall(r'yield (?:\(\s*)?"(\w+)"', inspect.getsource(findings))
    assert sorted(first_cells("Warnings")) == sorted(codes)


def test_every_dimension_and_sum_is_explained() -> None:
    assert sorted(first_cells("Broken down")) == sorted(one.value for one in Dimension)
    for one in Dimension:
        assert all(f"`{column}`" in PAGE for column in one.columns)
    assert all(f"`{measure}`" in PAGE for measure in MEASURES)


STRIDE = 1 if os.environ.get("BINX_EVERY_BIT") else 311
NAMES = ["tagged_gtids", "no_checksum", "compressed", "statements"]


def damaged(name: str) -> list[bytes]:
    """The log with single bits flipped, and cut."""
    data = (TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog").read_bytes()
    logs = [data[:size] for size in range(0, len(data), STRIDE)]
    for bit in range(0, len(data) * 8, STRIDE):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        logs.append(bytes(flipped))
    return logs


@pytest.mark.parametrize(("verify", "quick"), [(True, False), (False, True)])
@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_a_damaged_log_is_accounted_for(name: str, verify: bool, quick: bool) -> None:
    for data in damaged(name):
        try:
            file = BinlogFile(Bytes(data))
        except BinxError:
            continue
        figures = gather([file], quick=quick, verify=verify)
        (one,) = figures["files"]
        parts = [one[f"{part}_bytes"] for part in ("header", "transaction", "unfinished", "damaged")]
        assert min(parts) >= 0
        assert sum(parts) == one["bytes"] == len(data)
        assert figures_json(figures)
