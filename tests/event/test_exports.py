"""The package's names: each is where it says, and loaded no earlier than needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import binx.event


@pytest.mark.parametrize("name", binx.event.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(binx.event, name) is not None
    assert name in dir(binx.event)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = binx.event.nonsense


def test_reading_gtids_loads_nothing_of_rows_and_statements() -> None:
    program = (
        "import sys; from binx.event import Gtid, GtidSet, parse_format, parse_header; "
        "print(*(name for name in sys.modules if name.startswith('binx.event.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert "binx.event.gtid" in loaded
    assert not {"binx.event.query", "binx.event.table_map", "binx.event.parse"} & set(loaded.split())
