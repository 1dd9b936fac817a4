"""What a load prints for people."""

from __future__ import annotations

from binx.spark.loading.summary import Summary, TableSummary

NAME = "a\x1b[2J\x9b1m\u202e\nb"


def test_no_name_of_a_table_drives_the_terminal() -> None:
    table = TableSummary("shop", NAME, notes=[f"the column {NAME} is read"], losses=[NAME])
    summary = Summary(f"/lake/{NAME}", 1, True, 1, 1, 0.5, [table], notes=[NAME], losses=[NAME])
    lines = summary.lines()
    assert all(line.isprintable() for line in lines)
    assert lines[1].startswith(r"shop.a\x1b[2J\x9b1m\u202e\nb  ")
    assert len(lines) == 7
