"""Row changes as lines that a kernel writes, against the same written row by row."""

from __future__ import annotations

import json
from datetime import UTC
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.cli.show_text import ShowText
from binx.event.charset import charset
from binx.inspect.show import Showing, ShownEvent
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection
from binx.rows.parts import Spelled, Spelling
from binx.stats.row_text import INDENT, OPERATIONS
from binx.stats.shown_rows import shown_rows
from binx.stats.text import safe_text
from tests.conftest import TESTDATA
from tests.slices.spelled import texts_of

SMALL = [path for path in sorted(TESTDATA.glob("*/small/*.binlog")) if path.stem != "times_with_fractions"]
"""But one whose rows can only be decoded with a definition."""
LOGS = [*SMALL, TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_lines_of_a_kernel_are_those_written_row_by_row(path: Path) -> None:
    by_row, by_kernel = [], []
    writer = ShowText(width=None, colour=False, zone=UTC)
    with BinlogFile.open(str(path)) as file:
        ends = [read_ends(file)]
        for item in Showing(ends, Selection(), readable=True):
            if isinstance(item, ShownEvent):
                for row in item.rows:
                    by_row.append(f"{INDENT}{OPERATIONS[row['type']]} {row['db']}.{row['table']}")
                    by_row += writer.values(row)
        for item in Showing(ends, Selection(), rows=shown_rows):
            if isinstance(item, ShownEvent):
                by_kernel.append(b"".join(item.rows.text()).decode())
    assert list(chain.from_iterable(text.splitlines() for text in by_kernel)) == by_row


@given(st.lists(st.text() | st.binary(max_size=20), min_size=1, max_size=20))
def test_what_is_invisible_is_escaped_as_in_all_that_people_see(values: list[str | bytes]) -> None:
    utf8 = charset("utf8mb4")
    assert utf8 is not None
    stored = [
        value if isinstance(value, bytes) else value.encode("utf-8", "backslashreplace") for value in values
    ]
    texts = [utf8.decode(value) for value in stored]
    column = pa.array(stored, pa.binary())
    strings = [safe_text(json.dumps(text, ensure_ascii=False)).encode() for text in texts]
    assert texts_of([Spelled(Spelling.SPELL_SHOWN, column)], len(column)) == strings
    visible = [safe_text(text).encode() for text in texts]
    assert texts_of([Spelled(Spelling.SPELL_VISIBLE, column)], len(column)) == visible
