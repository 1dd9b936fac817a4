"""Whole logs, decoded side by side: the same data set, whoever decodes what."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.errors import BinxError, DamagedError
from binx.event.gtid_set import GtidSet
from binx.export import look_ahead
from binx.export import processes as processes_module
from binx.export.chain_walk import places_behind
from binx.export.look_ahead import LookAhead
from binx.export.parquet import to_parquet
from binx.export.parquet_files import ParquetOptions
from binx.export.sharing import Place, whole_logs
from binx.export.staging import ChainState, SourceReport
from binx.log.file import open_files
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog
from tests.export.slices import SIZES
from tests.export.test_parquet import contents
from tests.export.test_sliced import CHAINS, Late, slice_small


class Others:
    """Does here what processes would do side by side; every second time it is asked one is idle."""

    def __init__(self, count: int, work: Callable[..., Any]) -> None:
        self.count = count
        self.given: list[tuple[int, str]] = []
        self._work = work
        self._asked = 0

    def __enter__(self) -> Others:
        latest.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.given.append((-1, "stop"))

    def end(self) -> None:
        """There is nobody to end."""

    @property
    def has_idle(self) -> bool:
        self._asked += 1
        return self._asked % 2 == 1

    def submit(self, number: int, part: Any) -> Late:
        self.given.append((number, type(part).__name__))
        return Late(self._work, (number, part))


class Ahead(LookAhead):
    """Looks ahead in this process; every third time it is asked it is ready."""

    def __init__(self, whole: int, places: Callable[[], Iterator[Place]]) -> None:
        super().__init__(0, places)
        self.whole = whole
        self._places = places()
        self._asked = 0

    def is_ready(self) -> bool:
        self._asked += 1
        return self._asked % 3 == 0

    def take(self) -> Place:
        return next(self._places)


latest: list[Others] = []


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have so many logs go whole to processes that this one stands in for, and slices of those behind."""

    def shared(whole: int) -> None:
        latest.clear()
        slice_small(monkeypatch)
        monkeypatch.setattr(look_ahead, "can_fork", lambda: True)
        monkeypatch.setattr(look_ahead, "whole_logs", lambda sizes, processes: whole)
        monkeypatch.setattr(look_ahead, "LookAhead", Ahead)
        monkeypatch.setattr(processes_module, "Processes", Others)

    return shared


def export(
    folder: Path, paths: list[Path], jobs: int, selection: Selection | None = None, **more: Any
) -> tuple[dict[str, str], list[SourceReport], Selector]:
    files = open_files([str(path) for path in paths])
    try:
        selector = Selector(selection or Selection(), [file.name for file in files])
        options = ParquetOptions(jobs=jobs)
        reports = list(to_parquet(files, folder, selector, options=options, **more))
    finally:
        for file in files:
            file.close()
    return contents(folder), reports, selector


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("behind", [0, 1, 2])
def test_whole_logs_and_slices_behind_them_make_the_data_set_that_one_pass_makes(
    chain: str, behind: int, tmp_path: Path, share: Callable[[int], None]
) -> None:
    paths = CHAINS[chain]
    share(len(paths) - behind)
    states = [(Catalog(), ChainState()), (Catalog(), ChainState())]
    told: list[int] = []
    alone, reports, _ = export(tmp_path / "alone", paths, 1, catalog=states[0][0], state=states[0][1])
    shared, others, _ = export(
        tmp_path / "shared", paths, 2, catalog=states[1][0], state=states[1][1], progress=told.append
    )
    kinds = [kind for _, kind in latest[0].given]
    assert 0 < kinds.count("Place") < len(paths) - behind
    assert ("Slice" in kinds) == (behind > 0)
    assert shared == alone
    assert [one.source for one in others] == [one.source for one in reports]
    assert told == sorted(told)
    assert told[-1] == sum(path.stat().st_size for path in paths)
    (one, before), (other, behind_all) = states
    assert other.fingerprint() == one.fingerprint()
    assert (behind_all.epoch, behind_all.seqno) == (before.epoch, before.seqno)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_walk_leads_where_decoding_does(chain: str, tmp_path: Path) -> None:
    paths = CHAINS[chain]
    files = open_files([str(path) for path in paths])
    try:
        walked = places_behind(files, Catalog(), 0, 1)
        catalog, state = Catalog(), ChainState()
        for file, place in zip(files, walked, strict=True):
            list(to_parquet([file], tmp_path, catalog=catalog, state=state))
            assert (place.epoch, place.seqno) == (state.epoch, state.seqno)
            known = Catalog()
            known.become(pickle.loads(place.tables))
            assert known.fingerprint() == catalog.fingerprint()
    finally:
        for file in files:
            file.close()
    assert len(catalog) > 1


def test_logs_that_were_written_before_are_kept(tmp_path: Path, share: Callable[[int], None]) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    share(len(paths))
    alone, _, _ = export(tmp_path / "alone", paths, 1)
    export(tmp_path / "out", paths[:2], 1)
    shared, reports, _ = export(tmp_path / "out", paths, 2)
    assert [report.kept for report in reports] == [True, True] + [False] * (len(paths) - 2)
    assert shared == alone
    again, reports, _ = export(tmp_path / "out", paths, 2)
    assert all(report.kept for report in reports)
    assert again == alone


def test_a_selection_is_answered_from_all_logs(tmp_path: Path, share: Callable[[int], None]) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    share(len(paths))
    export(tmp_path / "everything", paths, 1)
    gtids = [one for one in pq.read_table(tmp_path / "everything/transactions")["gtid"].to_pylist() if one]
    unknown = GtidSet.parse("11111111-1111-1111-1111-111111111111:7")
    selection = Selection(gtids=GtidSet.parse(",".join([gtids[0], gtids[-1]])) | unknown)
    alone, _, _ = export(tmp_path / "alone", paths, 1, selection)
    for _ in range(2):
        shared, _, selector = export(tmp_path / "shared", paths, 2, selection)
        assert shared == alone
        assert selector.missing() == unknown


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_stands_before_damage_is_committed_and_the_error_is_the_same(
    place: int, tmp_path: Path, share: Callable[[int], None]
) -> None:
    paths = [*CHAINS["mysql-9.7/shop"][:4]]
    data = bytearray(paths[place].read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    paths[place] = tmp_path / paths[place].name
    paths[place].write_bytes(data)
    share(len(paths))
    with pytest.raises(DamagedError) as alone:
        export(tmp_path / "alone", paths, 1)
    with pytest.raises(DamagedError) as shared:
        export(tmp_path / "shared", paths, 2)
    assert str(shared.value) == str(alone.value)
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
    assert len(list((tmp_path / "shared").glob("_manifest/*"))) == place
    assert not (tmp_path / "shared/_staging").exists()


@pytest.mark.parametrize(
    ("sizes", "processes", "whole"),
    [
        ([1000], 2, 0),
        ([1000, 1000], 2, 2),
        ([1000, 990], 2, 2),
        ([1000, 300], 2, 0),
        ([1000, 1000, 1000], 2, 2),
        ([1000] * 4, 2, 4),
        ([1000] * 5, 2, 4),
        ([1000, 1000], 3, 0),
        ([1000] * 3, 3, 3),
    ],
)
def test_logs_go_whole_to_processes_where_all_are_busy_to_the_end(
    sizes: list[int], processes: int, whole: int
) -> None:
    assert whole_logs(sizes, processes) == whole


def test_who_looks_ahead_tells_one_place_after_another() -> None:
    places = [Place(0, number, b"tables") for number in range(3)]
    with LookAhead(3, lambda: iter(places)) as ahead:
        assert [ahead.take() for _ in places] == places


def test_an_error_of_who_looks_ahead_comes_behind_what_was_found_before() -> None:
    def places() -> Iterator[Place]:
        yield Place(0, 1, b"")
        raise DamagedError("expected a header", offset=7)

    with LookAhead(2, places) as ahead:
        assert ahead.take().seqno == 1
        with pytest.raises(DamagedError, match="expected a header") as found:
            ahead.take()
        assert found.value.offset == 7


def test_who_looks_ahead_and_was_killed_is_told_of() -> None:
    def places() -> Iterator[Place]:
        yield Place(0, 1, b"")
        os.kill(os.getpid(), signal.SIGKILL)

    with LookAhead(2, places) as ahead:
        assert ahead.take().seqno == 1
        with pytest.raises(BinxError, match="signal 9"):
            ahead.take()


def test_nobody_looks_ahead_of_one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def forked(*arguments: object) -> None:
        raise AssertionError("a copy was made")

    slice_small(monkeypatch)
    monkeypatch.setattr(look_ahead, "can_fork", lambda: True)
    monkeypatch.setattr(look_ahead, "Copy", forked)
    path = max(CHAINS["mysql-9.7/shop"], key=lambda one: one.stat().st_size)
    assert path.stat().st_size > SIZES["LEAST_SHARED"]
    (file,) = open_files([str(path)])
    with file:
        ahead = look_ahead.begin_to_look_ahead(
            [file], Selection(), None, jobs=2, on_damage=ParquetOptions().on_damage, where=None
        )
    assert ahead is not None
    assert ahead.whole == 0
