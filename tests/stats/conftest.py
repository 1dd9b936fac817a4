"""Logs of a shop, by both kinds of servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import in_order
from tests.conftest import SERVERS, SHOPS


@pytest.fixture(params=SERVERS)
def shop(request: pytest.FixtureRequest) -> Iterator[list[BinlogFile]]:
    """The shop's logs, opened, in their order."""
    opened = [BinlogFile.open(str(path)) for path in SHOPS[request.param]]
    files = [ends.file for ends in in_order(opened)]
    yield files
    for file in files:
        file.close()
