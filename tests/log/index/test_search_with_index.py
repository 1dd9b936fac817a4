"""Searches with and without index files: the same transactions, the same notes, the same GTIDs missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds
from binx.log.chain.inputs import open_chain
from binx.log.index.lookup import IndexUse, index_path
from binx.log.index.writer import write_index
from binx.log.selection.moments import Position
from binx.log.selection.selection import Selection
from binx.slices.search import Search
from tests.log.searching import SHOPS, gtid_of


@pytest.fixture(scope="module", params=list(SHOPS))
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def indexes(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of index files of a shop's logs, in small row groups."""
    folder = tmp_path_factory.mktemp("indexes")
    with pytest.MonkeyPatch.context() as patch, open_chain(list(map(str, SHOPS[server]))) as chain:
        patch.setattr("binx.log.scan.WINDOW_BYTES", 4096)
        patch.setattr("binx.log.index.writer.GROUP_ROWS", 1)
        for ends in chain:
            write_index(ends.file, index_path(ends.file, str(folder)))
    return folder


def found(
    chain: list[FileEnds], selection: Selection
) -> tuple[list[tuple[str, int, int]], int, str, list[str]]:
    """What a search takes, how many that is, what it misses, and what it says."""
    search = Search(chain, selection)
    taken = [
        (run.file.name, run.table.value("start", index), run.table.value("end", index))
        for run in search.runs()
        for index in run.table.marked(run.mask or b"")
    ]
    return taken, search.taken, str(search.selector.missing()), search.selector.notes


def numbers(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most)


TIMES = st.none() | st.integers(0, 400).map(lambda seconds: seconds * 500_000)
GLOBS = st.lists(
    st.sampled_from(["shop.orders", "shop.*", "shop.customers", "*.audit_log", "nowhere.*"]), max_size=2
)


@st.composite
def selections(draw: st.DrawFn, server: str, first: int, logs: list[str]) -> Selection:
    """Selections of every kind, most of which take something."""
    gtids = None
    if draw(st.booleans()):
        wanted = draw(st.lists(numbers(1500), min_size=1, max_size=4))
        gtids = GtidSet.parse(",".join(gtid_of(server, number) for number in wanted))
    since, length = draw(TIMES), draw(st.none() | st.integers(1, 10**9))
    positions = st.none() | st.builds(Position, st.sampled_from(logs), st.integers(0, 200_000))
    start, stop = draw(positions), draw(positions)
    return Selection(
        gtids=gtids,
        exclude_gtids=draw(st.none() | st.just(GtidSet.parse(gtid_of(server, 20)))),
        since=None if since is None else first + since,
        until=None if length is None else first + (since or 0) + length,
        start=start,
        stop=stop,
        tables=tuple(draw(GLOBS)),
        thread_ids=tuple(draw(st.lists(numbers(40), max_size=2))),
        xids=tuple(draw(st.lists(numbers(3000), max_size=2))),
        server_ids=tuple(draw(st.lists(st.sampled_from([1, 97, 1011]), max_size=1))),
        min_bytes=draw(st.none() | numbers(5000)),
        limit=draw(st.none() | numbers(50)),
    )


@pytest.fixture(scope="module")
def chains(server: str, indexes: Path) -> Iterator[tuple[list[FileEnds], list[FileEnds]]]:
    """A shop's logs, once without and once with their index files."""
    paths = list(map(str, SHOPS[server]))
    with open_chain(paths) as plain, open_chain(paths, index=IndexUse(str(indexes))) as indexed:
        assert all(ends.file.index is not None for ends in indexed)
        for ends in indexed:
            # As a compressed log or one in an object store, whose index is used for GTIDs too.
            ends.file._is_plain = False
        yield plain, indexed


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_search_finds_the_same_with_index_files(
    server: str, chains: tuple[list[FileEnds], list[FileEnds]], data: st.DataObject
) -> None:
    plain, indexed = chains
    first = plain[0].file.format.header_timestamp * 1_000_000
    selection = data.draw(selections(server, first, [ends.file.name for ends in plain]))
    with_index, without = found(indexed, selection), found(plain, selection)
    assert with_index[:3] == without[:3]
    # A search that is complete ends at once; of positions behind it may have seen some.
    assert set(with_index[3]) <= set(without[3])
    if selection.gtids is None and selection.limit is None:
        assert with_index[3] == without[3]
