"""Slices of logs, decoded side by side: the same data set, whoever decodes what."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.errors import BinxError, DamagedError
from binx.event.format import Flavour
from binx.event.gtid_set import GtidSet
from binx.event.table_map import TableMap
from binx.export import finding, look_ahead, slices
from binx.export import processes as processes_module
from binx.export.aside import name_aside
from binx.export.dataset import DataSet
from binx.export.parquet import to_parquet
from binx.export.parquet_files import ParquetOptions
from binx.export.processes import Processes
from binx.export.slice_finder import SliceFinder
from binx.export.slices import Slice, SliceWriter
from binx.export.source_told import TableVersion
from binx.export.staging import ChainState, source_name
from binx.log.file import BinlogFile, open_files
from binx.log.on_damage import OnDamage
from binx.log.scan import Resumption
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog
from binx.rows.names import ResolvedTable, resolve_columns
from binx.rows.schema import TableDefinition
from binx.source.plain import PlainFile
from tests.conftest import TESTDATA
from tests.export.slices import SIZES, contiguous, slice_of
from tests.export.test_parquet import contents

CHAINS = {
    "mysql-9.7/shop": sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*")),
    "mariadb-10.11/shop": sorted((TESTDATA / "mariadb-10.11" / "shop").glob("*.0*")),
}


class Late:
    """What is done when it is asked for the tenth time."""

    def __init__(self, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._work = work
        self._args = args
        self._asked = 0

    def done(self) -> bool:
        self._asked += 1
        return self._asked > 9

    def result(self) -> Any:
        return self._work(*self._args)


class Here:
    """Does in this process, one after another, what processes would do side by side.

    What is done is not told of at once, so that whoever asks for it has something to do too.
    """

    def __init__(self, count: int, work: Callable[..., Any]) -> None:
        self.count = count
        self.stopped = False
        self.has_idle = False
        self._work = work

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.stopped = True

    def end(self) -> None:
        """There is nobody to end."""

    def submit(self, *args: Any) -> Late:
        return Late(self._work, args)


def slice_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (finding, look_ahead):
        for name, size in SIZES.items():
            monkeypatch.setattr(module, name, size, raising=False)


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    slice_small(monkeypatch)


@pytest.fixture
def here(small_slices: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have slices decoded in this process; gives where each began."""
    begun: list[int] = []
    write = slices.SliceWriter.write

    def written(writer: slices.SliceWriter, place: int, begin: Resumption, *args: Any) -> Any:
        begun.append(begin.position)
        return write(writer, place, begin, *args)

    monkeypatch.setattr(look_ahead, "can_fork", lambda: True)
    monkeypatch.setattr(look_ahead, "whole_logs", lambda sizes, processes: 0)
    monkeypatch.setattr(processes_module, "Processes", Here)
    monkeypatch.setattr(slices.SliceWriter, "write", written)
    return begun


def export(
    folder: Path, paths: list[Path], jobs: int, selection: Selection | None = None
) -> tuple[dict[str, str], Selector]:
    files = open_files([str(path) for path in paths])
    try:
        selector = Selector(selection or Selection(), [file.name for file in files])
        for _ in to_parquet(files, folder, selector, options=ParquetOptions(jobs=jobs)):
            pass
    finally:
        for file in files:
            file.close()
    return contents(folder), selector


@pytest.mark.parametrize("chain", CHAINS)
def test_slices_make_the_data_set_that_one_pass_makes(chain: str, tmp_path: Path, here: list[int]) -> None:
    alone, _ = export(tmp_path / "alone", CHAINS[chain], 1)
    assert not here
    sliced, _ = export(tmp_path / "sliced", CHAINS[chain], 2)
    assert len(here) > 3 * len(CHAINS[chain])
    assert sliced == alone


@pytest.mark.parametrize("chain", CHAINS)
def test_how_a_log_is_sliced_changes_no_row(
    chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = export(tmp_path / "whole", CHAINS[chain], 1)
    slice_small(monkeypatch)
    sliced, _ = export(tmp_path / "sliced", CHAINS[chain], 1)
    assert whole.keys() == sliced.keys()
    assert whole != sliced
    for name in whole:
        if name.endswith(".parquet"):
            one, other = (pq.read_table(tmp_path / folder / name) for folder in ("whole", "sliced"))
            assert one.to_pylist() == other.to_pylist(), name


def slices_of(file: BinlogFile) -> list[Slice]:
    finder = SliceFinder(file, Catalog(), ChainState(), lambda start, window: None)
    found = []
    while not finder.at_end:
        found.append(finder.slice())
        finder.pass_over()
    return found


@pytest.mark.parametrize("chain", CHAINS)
def test_a_slice_has_whole_what_begins_in_it(chain: str, small_slices: None) -> None:
    for path in CHAINS[chain]:
        with BinlogFile.open(str(path)) as file:
            begins = [table.value("start", i) for table in file.scan() for i in range(len(table))]
            found = slices_of(file)
        assert found[0].start == file.first_position
        assert found[-1].stop is None
        assert found[-1].seqno <= len(begins) + 1
        for one, behind in itertools.pairwise(found):
            inside = [begin for begin in begins if one.start <= begin < behind.start]
            assert one.stop is not None
            assert all(begin < one.stop for begin in inside)
            assert behind.start >= one.stop
            assert behind.seqno == one.seqno + len(inside)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_slice_that_is_decoded_leads_where_it_does_that_is_walked_over(
    chain: str, tmp_path: Path, small_slices: None
) -> None:
    files = open_files([str(path) for path in CHAINS[chain]])
    dataset = DataSet(tmp_path / "out")
    writer = SliceWriter(dataset, files, Selection(), ParquetOptions())
    catalog, state, read = Catalog(), ChainState(), 0

    def watch(start: int, window: memoryview) -> None:
        nonlocal read
        assert start <= read
        read = max(read, start + len(window))

    for number, file in enumerate(files):
        found, read = slices_of(file), file.first_position
        transaction = dataset.begin(source_name(file))
        state.seqno = 1
        finder = SliceFinder(file, catalog, state, watch)
        for part in found:
            here = finder.slice()
            assert (here.start, here.stop, here.seqno) == (part.start, part.stop, part.seqno)
            finder.decode(writer, number)
        assert finder.at_end
        assert read == file.size
        transaction.abandon()
        file.close()
    assert len(catalog) > 1


@pytest.mark.parametrize("chain", CHAINS)
def test_a_table_is_told_of_and_found_out_once_in_the_slices_of_a_log(
    chain: str, tmp_path: Path, small_slices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_out: list[tuple[object, ...]] = []

    def resolved(table_map: TableMap, definition: TableDefinition | None, flavour: Flavour) -> ResolvedTable:
        found_out.append((table_map, None if definition is None else definition.ddl))
        return resolve_columns(table_map, definition, flavour)

    monkeypatch.setattr("binx.rows.resolving.resolve_columns", resolved)
    path = CHAINS[chain][0]
    dataset = DataSet(tmp_path)
    with BinlogFile.open(str(path)) as file:
        writer = SliceWriter(dataset, [file], Selection(), ParquetOptions())
        dataset.begin(source_name(file))
        finder = SliceFinder(file, Catalog(), ChainState(), lambda start, window: None)
        told: list[TableVersion] = []
        count = 0
        while not finder.at_end:
            told += writer(0, pickle.loads(pickle.dumps(finder.slice()))).told.records
            finder.pass_over()
            count += 1
    assert count > 5
    assert len(found_out) == len(set(found_out)) > 1
    assert len(told) == len(set(told)) > 1


@pytest.mark.parametrize(("waiting", "often"), [(1 << 20, False), (0, True)])
def test_a_small_file_is_opened_once_and_once_a_slice_where_many_fill_the_memory_in_which_they_wait(
    waiting: int, often: bool, tmp_path: Path, small_slices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()
    really_open = os.open

    def count(path: str, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_APPEND:
            opened[Path(path).name] += 1
        return really_open(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", count)
    monkeypatch.setattr("binx.export.parquet_files.OPEN_WRITERS", 1)
    monkeypatch.setattr("binx.export.parquet_files.WAITING_BYTES", waiting)
    export(tmp_path, CHAINS["mysql-9.7/shop"][:1], 1)
    groups = {
        name_aside(path.relative_to(tmp_path).as_posix()): pq.read_metadata(path).num_row_groups
        for path in (tmp_path / "changes").rglob("*.parquet")
    }
    slices_of_log = max(groups.values())
    everywhere = [name for name, count in groups.items() if count == slices_of_log]
    assert slices_of_log > 5
    assert len(everywhere) > 1
    assert {opened[name] for name in everywhere} == {slices_of_log if often else 1}


def test_a_slice_is_known_before_it_is_read(small_slices: None) -> None:
    read: list[int] = []
    with BinlogFile.open(str(CHAINS["mysql-9.7/shop"][0])) as file:
        finder = SliceFinder(
            file, Catalog(), ChainState(), lambda start, window: read.append(start + len(window))
        )
        assert finder.slice().start == file.first_position
        assert not read
        finder.pass_over()
        behind = finder.slice()
        assert read[0] > behind.start


def test_tables_are_pickled_anew_where_statements_stand_between_slices(small_slices: None) -> None:
    found = []
    for path in CHAINS["mysql-9.7/shop"]:
        with BinlogFile.open(str(path)) as file:
            found += slices_of(file)
    known = [list(pickle.loads(part.tables)) for part in found]
    assert not known[0]
    assert known[1]
    assert any(one is behind for one, behind in itertools.pairwise(part.tables for part in found))


def test_a_transaction_that_is_longer_than_slices_is_one(tmp_path: Path, here: list[int]) -> None:
    source = CHAINS["mariadb-10.11/shop"][3]
    log = tmp_path / source.name
    data, report = slice_of([source], contiguous(1, 1))
    log.write_bytes(data)
    assert report.transactions == 1
    assert len(data) > 2 * SIZES["SLICE_BYTES"]
    alone, _ = export(tmp_path / "alone", [log], 1)
    sliced, _ = export(tmp_path / "sliced", [log], 2)
    assert len(here) == 1
    assert sliced == alone


@pytest.mark.parametrize("size", [10 << 20, 100 << 20, 128 << 20, 1000 << 20, 4100 << 20])
def test_slices_are_small_where_a_log_of_several_ends(size: int) -> None:
    ends = [finding.slice_end(0, size)]
    while ends[-1] < size:
        ends.append(finding.slice_end(ends[-1], size))
    lengths = [stop - start for start, stop in itertools.pairwise([0, *ends])]
    assert set(lengths) <= {finding.SLICE_BYTES, finding.LAST_SLICE_BYTES}
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[-1] == finding.LAST_SLICE_BYTES) == (size >= 2 * finding.SLICE_BYTES)
    assert len(lengths) <= size / finding.SLICE_BYTES + 7


def test_a_selection_is_answered_from_all_slices(tmp_path: Path, here: list[int]) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    export(tmp_path / "everything", paths, 1)
    transactions = pq.read_table(tmp_path / "everything" / "transactions")
    gtids = [gtid for gtid in transactions["gtid"].to_pylist() if gtid]
    wanted = GtidSet.parse(",".join([gtids[0], gtids[len(gtids) // 2], gtids[-1]]))
    unknown = GtidSet.parse("11111111-1111-1111-1111-111111111111:7")
    selection = Selection(gtids=wanted | unknown)
    alone, _ = export(tmp_path / "alone", paths, 1, selection)
    sliced, selector = export(tmp_path / "sliced", paths, 2, selection)
    assert here
    assert sliced == alone
    assert selector.missing() == unknown


def test_what_stands_before_damage_is_committed_and_the_error_is_the_same(
    tmp_path: Path, here: list[int]
) -> None:
    first, second, *_ = CHAINS["mysql-9.7/shop"]
    data = bytearray(second.read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    damaged = tmp_path / second.name
    damaged.write_bytes(data)
    with pytest.raises(DamagedError) as alone:
        export(tmp_path / "alone", [first, damaged], 1)
    with pytest.raises(DamagedError) as sliced:
        export(tmp_path / "sliced", [first, damaged], 2)
    assert here
    assert str(sliced.value) == str(alone.value)
    assert contents(tmp_path / "sliced") == contents(tmp_path / "alone")
    assert list((tmp_path / "sliced" / "_manifest").glob(f"{first.name}*"))


def test_damage_that_is_salvaged_leaves_the_same_rows_however_a_log_is_sliced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(CHAINS["mysql-9.7/shop"][1].read_bytes())
    for place in range(20_000, len(data), 50_000):
        data[place : place + 64] = bytes(64)
    damaged = tmp_path / "mysql-bin.000002"
    damaged.write_bytes(data)
    options = ParquetOptions(on_damage=OnDamage.SALVAGE)
    for folder in ("whole", "sliced"):
        if folder == "sliced":
            slice_small(monkeypatch)
        files = open_files([str(damaged)])
        (report,) = to_parquet(files, tmp_path / folder, options=options)
        files[0].close()
        assert len(report.manifest["damage"]) > 3
    one, other = (
        json.loads(next((tmp_path / folder / "_manifest").iterdir()).read_text("utf-8"))
        for folder in ("whole", "sliced")
    )
    for part in ("damage", "conservation", "tables", "losses", "warnings", "gtid_set"):
        assert one[part] == other[part]
    for entry in one["files"]:
        if entry["path"].endswith(".parquet"):
            rows = [
                pq.read_table(tmp_path / folder / entry["path"]).to_pylist() for folder in ("whole", "sliced")
            ]
            assert rows[0] == rows[1]


def test_what_was_written_before_is_kept(tmp_path: Path, here: list[int]) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    export(tmp_path / "out", paths[:1], 2)
    begun = len(here)
    sliced, _ = export(tmp_path / "out", paths, 2)
    of_the_first = begun
    alone, _ = export(tmp_path / "alone", paths, 1)
    assert sliced == alone
    assert here[begun:]
    assert of_the_first


def program(arguments: list[str]) -> list[str]:
    """A command line of binx that slices small logs."""
    text = (
        "from binx.export import finding, look_ahead\n"
        f"for module in (finding, look_ahead): vars(module).update({SIZES})\n"
        "from binx.cli.main import main\n"
        "main()\n"
    )
    return [sys.executable, "-c", text, *arguments]


def test_processes_make_it_too(tmp_path: Path, small_slices: None) -> None:
    paths = CHAINS["mysql-9.7/shop"]
    alone, _ = export(tmp_path / "alone", paths, 1)
    for jobs in (2, 3):
        command = ["to-parquet", *map(str, paths), "-o", str(tmp_path / str(jobs)), "--jobs", str(jobs)]
        done = subprocess.run(program(command), capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert contents(tmp_path / str(jobs)) == alone


def twice(number: int, padding: bytes = b"") -> int:
    if number < 0:
        raise DamagedError("expected a number that is not negative", offset=number)
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def numbered(data: bytes) -> int:
    return os.getpid()


@pytest.fixture
def processes() -> Iterator[Processes[[int, bytes], int]]:
    with Processes(2, twice) as started:
        yield started


def test_processes_answer_in_any_order(processes: Processes[[int, bytes], int]) -> None:
    futures = [processes.submit(number, b"") for number in range(1, 50)]
    assert [future.result() for future in futures] == [2 * number for number in range(1, 50)]


def test_work_that_no_pipe_holds_waits_until_it_is_read(processes: Processes[[int, bytes], int]) -> None:
    futures = [processes.submit(number, bytes(300_000)) for number in range(1, 10)]
    assert [future.result() for future in futures] == [2 * number for number in range(1, 10)]


def test_a_process_has_a_queue_of_work() -> None:
    reading, writing = os.pipe()

    def wait(number: int) -> int:
        os.read(reading, 1)
        return number

    with Processes(2, wait) as processes:
        assert processes.has_idle
        answers = [processes.submit(0)]
        assert processes.has_idle
        answers += [processes.submit(number) for number in range(1, 6)]
        assert not processes.has_idle
        assert not any(answer.done() for answer in answers)
        os.write(writing, bytes(len(answers)))
        assert [answer.result() for answer in answers] == list(range(6))
        assert processes.has_idle
    for end in (reading, writing):
        os.close(end)


def test_processes_end_when_they_have_done_what_was_submitted() -> None:
    with Processes(2, numbered) as processes:
        answers = [processes.submit(bytes(300_000)) for _ in range(9)]
        processes.end()
        numbers = {answer.result() for answer in answers}
        assert len(numbers) == 2
        for number in numbers:
            # Waits for it, and leaves it to who began it.
            os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)


def test_an_error_comes_back_as_it_was_and_ends_nothing(processes: Processes[[int, bytes], int]) -> None:
    with pytest.raises(DamagedError, match="not negative") as found:
        processes.submit(-5, b"").result()
    assert found.value.offset == -5
    assert processes.submit(4, b"").result() == 8


def test_a_process_that_was_killed_is_told_of(processes: Processes[[int, bytes], int]) -> None:
    with pytest.raises(BinxError, match=r"signal 9.*--memory or --jobs"):
        processes.submit(0, b"").result()


def test_only_plain_files_are_shared(tmp_path: Path, small_slices: None) -> None:
    files = open_files([str(CHAINS["mysql-9.7/shop"][0])])
    try:
        assert isinstance(files[0].source, PlainFile)
        assert look_ahead.can_be_shared(files, Selection(), OnDamage.STOP, None)
        assert not look_ahead.can_be_shared(files, Selection(), OnDamage.SALVAGE, None)
        assert not look_ahead.can_be_shared(files, Selection(limit=3), OnDamage.STOP, None)
        assert not look_ahead.can_be_shared(files * 2, Selection(), OnDamage.STOP, None)
    finally:
        files[0].close()
