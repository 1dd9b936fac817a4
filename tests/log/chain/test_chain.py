"""Chains: files in any order are brought into the order of writing, and what does not fit is told."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from binx.event.gtid.previous import encode_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, open_files
from binx.log.chain import chain
from binx.log.chain.chain import epochs, in_order
from binx.log.chain.ends import facts_of
from binx.log.scan import Scan
from binx.log.succession import ChainProblem, ChainProblemKind, IndexEntry, missing_gtids
from binx.verify.verification import link_problems
from tests.conftest import SHOPS, TESTDATA
from tests.log import building as b
from tests.log.searching import Bytes

FIRST_EVENTS = (TESTDATA / "mysql-9.7/small/no_checksum.binlog").read_bytes()[:127]
TRANSACTION = b.gtid() + b.CREATE


def ending(event: bytes, begin: int) -> bytes:
    """An event that says where it ends, as servers' own do."""
    return event[:13] + struct.pack("<I", begin + len(event)) + event[17:]


def log(
    number: int,
    *,
    at: int,
    server_id: int = 1,
    startup: bool = False,
    previous: str = "",
    end: str | None = "rotate",
    base: str = "binlog",
    following: int | None = None,
    lasts: int = 10,
    folder: str = "",
) -> BinlogFile:
    """A log without checksums, begun at a time, that ends with ROTATE, STOP or neither some seconds later."""
    head = bytearray(FIRST_EVENTS)
    struct.pack_into("<I", head, 4, at)
    struct.pack_into("<I", head, 4 + 5, server_id)
    struct.pack_into("<I", head, 4 + 19 + 2 + 50, at if startup else 0)
    data = bytes(head) + b.event(35, encode_previous_gtids(GtidSet.parse(previous))) + TRANSACTION
    if end == "rotate":
        name = f"{base}.{following or number + 1:06d}".encode()
        data += ending(b.event(4, struct.pack("<Q", 4) + name, timestamp=at + lasts), len(data))
    elif end == "stop":
        data += ending(b.event(3, b"", timestamp=at + lasts), len(data))
    source = Bytes(data, f"{base}.{number:06d}")
    source.path = f"{folder}{source.name}"
    return BinlogFile(source)


def order_files(files: list[BinlogFile]) -> list[BinlogFile]:
    return [ends.file for ends in in_order(files)]


def chain_problems(files: list[BinlogFile]) -> list[ChainProblem]:
    return chain.chain_problems(in_order(files))


def names(files: list[BinlogFile]) -> list[str]:
    return [file.name for file in files]


@pytest.mark.parametrize("server", SHOPS)
def test_files_given_in_any_order_come_out_as_they_were_written(server: str) -> None:
    files = open_files([str(path) for path in SHOPS[server]])
    for seed in range(10):
        shuffled = random.Random(seed).sample(files, len(files))
        assert names(order_files(shuffled)) == [path.name for path in SHOPS[server]]
    assert chain_problems(files) == []


@pytest.mark.parametrize("server", SHOPS)
def test_the_ends_of_each_file_name_the_next_one(server: str) -> None:
    ends = [facts_of(file) for file in open_files([str(path) for path in SHOPS[server]])]
    for before, after in pairwise(ends):
        assert before.next_log == after.name
        assert not before.stopped
    assert (ends[-1].next_log, ends[-1].stopped) == (None, True)


@pytest.mark.parametrize("server", SHOPS)
def test_logs_that_were_all_given_a_prefix_follow_each_other(tmp_path: Path, server: str) -> None:
    """``mysqlbinlog --raw --result-file=host1-`` writes them so."""
    for path in SHOPS[server]:
        (tmp_path / f"host1-{path.name}").write_bytes(path.read_bytes())
    copies = sorted(map(str, tmp_path.iterdir()))
    assert chain_problems(open_files(copies)) == []
    (gap,) = chain_problems(open_files([copies[0], *copies[2:]]))
    assert gap.kind is ChainProblemKind.GAP


def test_previous_gtids_are_those_of_all_files_before() -> None:
    seen = GtidSet()
    for file in open_files([str(path) for path in SHOPS["mysql-9.7"]]):
        assert facts_of(file).previous_gtids == seen
        for table in Scan(file, Level.LEVEL_INDEX):
            seen |= GtidSet.parse(",".join(table.gtid(index) or "" for index in range(len(table))))


def test_mariadbs_list_of_gtids_holds_the_last_of_each_domain_and_server() -> None:
    last = ""
    for file in open_files([str(path) for path in SHOPS["mariadb-10.11"]]):
        ends = facts_of(file)
        assert str(ends.gtids_before) == last
        assert facts_of(file).previous_gtids is None
        for table in Scan(file, Level.LEVEL_INDEX):
            last = table.gtid(len(table) - 1) or last


def test_the_ends_of_foreign_logs_are_what_a_whole_walk_meets(corpus: Path) -> None:
    compared = 0
    for path in sorted(corpus.iterdir()):
        try:
            file = BinlogFile.open(str(path))
            scan = Scan(file, Level.LEVEL_EVENTS, verify=False)
            for _ in scan:
                pass
        except Exception:
            continue
        ends = facts_of(file)
        number, position, size = scan.control_events[-1] if scan.control_events else (0, 0, 0)
        last = number if position + size == file.size else 0
        assert (ends.next_log is not None) == (last == EventType.ROTATE), path.name
        assert ends.stopped == (last == EventType.STOP), path.name
        compared += 1
    assert compared > 80


def test_a_file_that_is_not_there_is_a_gap() -> None:
    files = open_files([str(path) for path in SHOPS["mysql-9.7"]])
    (problem,) = chain_problems([files[0], files[1], files[3], files[4]])
    assert problem.kind is ChainProblemKind.GAP
    assert (problem.before.path, problem.after.path) == (files[1].path, files[3].path)
    assert "mysql-bin.000003" in problem.message


def test_a_gap_after_a_stop_shows_by_the_number() -> None:
    (problem,) = chain_problems([log(1, at=10, end="stop"), log(3, at=20, startup=True)])
    assert problem.kind is ChainProblemKind.GAP
    assert "binlog.000002" in problem.message
    assert chain_problems([log(1, at=10, end="stop"), log(2, at=20, startup=True)]) == []


def test_a_log_that_was_not_closed_is_reported_where_another_follows() -> None:
    open_one = log(2, at=20, end=None)
    (problem,) = chain_problems([log(1, at=10), open_one, log(3, at=30, startup=True)])
    assert problem.kind is ChainProblemKind.NOT_CLOSED
    assert chain_problems([log(1, at=10), open_one]) == []


def test_gtids_that_a_later_log_does_not_know_are_reported() -> None:
    uuid = b.UUID_TEXT
    files = [log(1, at=10, previous=f"{uuid}:1-50"), log(2, at=20, previous=f"{uuid}:1-40:48-60")]
    (problem,) = chain_problems(files)
    assert problem.kind is ChainProblemKind.GTIDS_LOST
    assert f"{uuid}:41-47" in problem.message


@pytest.mark.parametrize(
    ("before", "content", "after", "lost"),
    [
        ("0-10-101", "0-10-50", "0-10-50", ""),
        ("0-10-101", "0-10-102", "0-10-50", "0-10-51..101"),
        ("0-10-4,7-10-1", "0-10-5", "0-10-5", ""),
        ("0-10-4,7-10-1", "0-10-5", "", "0-10-1..4,7-10-1"),
        ("0-10-4,0-11-3", "0-10-5", "0-10-5", "0-11-1..3"),
    ],
)
def test_mariadbs_list_may_go_back_to_a_number_in_the_log_and_lack_a_deleted_domain(
    before: str, content: str, after: str, lost: str
) -> None:
    ends = [facts_of(file) for file in open_files(list(map(str, SHOPS["mariadb-10.11"][:2])))]
    first, second = (
        log._replace(gtids_before=GtidSet.parse(text))
        for log, text in zip(ends, (before, after), strict=True)
    )
    problems = list(link_problems(first, GtidSet.parse(content), second, GtidSet()))
    assert [problem.message.split()[2] for problem in problems] == ([lost] if lost else [])


def test_a_log_given_twice_is_reported() -> None:
    files = order_files([log(2, at=20), log(1, at=10), log(2, at=20)])
    assert names(files) == ["binlog.000001", "binlog.000002", "binlog.000002"]
    assert [problem.kind for problem in chain_problems(files)] == [ChainProblemKind.REPEATED]


def test_numbers_order_files_of_one_second_and_more_than_six_digits() -> None:
    files = [log(n, at=10) for n in (999_999, 1_000_000, 1_000_001)]
    assert names(order_files(files[::-1])) == names(files)


def test_a_clock_that_stepped_back_does_not_change_the_order() -> None:
    files = [log(1, at=500), log(2, at=100), log(3, at=600), log(4, at=90)]
    assert names(order_files([files[2], files[0], files[3], files[1]])) == names(files)


def test_numbering_that_began_anew_follows_the_time() -> None:
    uuid = b.UUID_TEXT
    before = [log(1, at=10), log(2, at=20, previous=f"{uuid}:1-9")]
    after = [log(1, at=30), log(2, at=40, previous=f"{uuid}:1-5")]
    for seed in range(8):
        shuffled = random.Random(seed).sample([*before, *after], 4)
        assert order_files(shuffled) == [*before, *after]


def test_servers_with_files_of_the_same_name_are_kept_apart() -> None:
    one = [log(n, at=10 * n, server_id=1) for n in (1, 2, 3)]
    other = [log(n, at=10 * n + 5, server_id=2) for n in (1, 2, 3)]
    for seed in range(8):
        shuffled = random.Random(seed).sample([*one, *other], 6)
        assert order_files(shuffled) == [*one, *other]
    assert chain_problems([*one, *other]) == []


def test_of_logs_of_one_id_and_name_the_next_is_that_which_begins_where_one_ends() -> None:
    one = [log(1, at=10, lasts=100), log(2, at=110)]
    other = [log(1, at=15), log(2, at=25)]
    assert_any_order_gives([*one, *other])


def changing(ids: Sequence[int] = (97, 98, 97, 97, 99), **how: Any) -> list[BinlogFile]:
    """A chain of a server whose id changed."""
    return [log(n, at=10 * n, server_id=server_id, **how) for n, server_id in enumerate(ids, 1)]


def assert_any_order_gives(files: list[BinlogFile]) -> None:
    for seed in range(20):
        assert order_files(random.Random(seed).sample(files, len(files))) == files


@pytest.mark.parametrize("end", ["rotate", "stop"])
def test_a_servers_id_that_changes_and_changes_back_breaks_no_chain(end: str) -> None:
    files = changing(end=end)
    assert_any_order_gives(files)
    assert chain_problems(files) == []
    assert {ends.chain for ends in in_order(files)} == {0}


def test_a_log_between_two_of_other_ids_that_is_not_there_is_a_gap() -> None:
    one, _, third, *_ = changing((97, 98, 99))
    (problem,) = chain_problems([third, one])
    assert (problem.kind, problem.before.path) == (ChainProblemKind.GAP, one.path)
    assert "binlog.000002" in problem.message


def test_chains_of_one_name_whose_servers_ids_change_are_kept_apart() -> None:
    """They are in folders of their own; what each ROTATE names was begun when it was written."""
    one = changing((97, 98, 97), folder="one/")
    other = [log(n, at=10 * n + 4, server_id=5, folder="other/") for n in (1, 2, 3)]
    assert_any_order_gives([*one, *other])
    assert chain_problems([*one, *other]) == []


def test_archived_logs_of_another_id_follow_by_the_time_of_their_rotation() -> None:
    """An archive has the logs of all servers in one folder, with a tag in their names."""
    names = ("binlog.000001.0a0b0c0d-01020304.zst", "binlog.000002.11111111-05060708.zst")
    one, late = log(1, at=10, server_id=97), log(2, at=500, server_id=98)
    next_one = log(2, at=20, server_id=98)
    for file, name in zip((one, late), names, strict=True):
        cast("Bytes", file.source).path = name
    cast("Bytes", next_one.source).path = names[1]
    assert [ends.chain for ends in in_order((one, next_one))] == [0, 0]
    assert [ends.chain for ends in in_order((one, late))] == [0, 1]


def test_gtids_that_contradict_make_no_chain_of_different_ids() -> None:
    uuid, stranger = b.UUID_TEXT, "11111111-2222-3333-4444-555555555555"
    one = log(1, at=10, server_id=97, previous=f"{uuid}:1-5", end="stop")
    other = log(2, at=30, server_id=98, previous=f"{stranger}:1-90", startup=True)
    assert [ends.chain for ends in in_order((one, other))] == [0, 1]


def test_an_index_states_the_order_of_logs_of_different_names_and_clocks() -> None:
    files = [log(7, at=100), log(1, at=90, base="new", server_id=2), log(2, at=80, base="new", server_id=1)]
    for place, file in enumerate(files):
        file.listed = IndexEntry("/data/mysql-bin.index", place)
    assert_any_order_gives(files)
    assert {ends.chain for ends in in_order(files)} == {0}


def test_a_base_name_that_changed_and_changed_back_is_one_chain_whose_names_break_off() -> None:
    """As servers write it: neither name's logs list what was logged under the other."""
    old = [log(n, at=at, end=end) for n, at, end in ((1, 10, "rotate"), (2, 20, "stop"), (3, 70, "rotate"))]
    new = [log(n, at=20 + 10 * n, base="other", end="stop" if n == 3 else "rotate") for n in (1, 2, 3)]
    files = [*old[:2], *new, old[2]]
    assert_any_order_gives(files)
    problems = chain_problems(files)
    assert [(problem.kind, problem.after.path) for problem in problems] == [
        (ChainProblemKind.GAP, new[0].path),
        (ChainProblemKind.GAP, old[2].path),
    ]
    assert "another name" in problems[0].message


def test_logs_of_one_id_and_different_names_that_were_written_side_by_side_are_kept_apart() -> None:
    one, other = ([log(n, at=10 * n + at, base=base) for n in (1, 2, 3)] for base, at in (("a", 0), ("b", 5)))
    assert_any_order_gives([*one, *other])
    assert chain_problems([*one, *other]) == []


def test_the_epoch_counts_the_servers_starts() -> None:
    files = [
        log(1, at=10, startup=True),
        log(2, at=20, end="stop"),
        log(3, at=30, startup=True),
        log(4, at=40),
        log(1, at=50, server_id=2, startup=True),
    ]
    ends = in_order(files)
    assert epochs(ends) == [1, 1, 2, 2, 1]
    assert epochs(ends[1:2]) == [0]


def test_thousands_of_files_are_ordered_by_links_and_not_by_trying_all() -> None:
    files = [log(n, at=n) for n in range(1, 2001)]
    assert order_files(random.Random(1).sample(files, len(files))) == files


@pytest.mark.parametrize("name", ["mysql-9.7/shop/mysql-bin.000004", "mariadb-10.11/shop/mysql-bin.000004"])
def test_only_a_files_ends_are_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BinlogFile.open(str(TESTDATA / name))
    whole = file.source.window
    read = 0

    def window(start: int, stop: int) -> memoryview:
        nonlocal read
        read += stop - start
        return whole(start, stop)

    monkeypatch.setattr(file.source, "window", window)
    facts_of(file)
    assert read < 20_000


def test_a_cut_head_is_an_error_or_a_head_that_says_less() -> None:
    data = SHOPS["mysql-9.7"][1].read_bytes()[:400]
    for size in range(127, 400):
        ends = facts_of(BinlogFile(Bytes(data[:size])))
        assert ends.next_log is None
        assert not ends.stopped


A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("logged", "previous", "missing"),
    [
        (f"{A}:1-10", [""], ""),
        (f"{A}:1-10:12-20", [""], f"{A}:11"),
        (f"{A}:101-200", [f"{A}:1-100"], ""),
        (f"{A}:105-200", [f"{A}:1-100"], f"{A}:101-104"),
        (f"{A}:11-20", [f"{A}:1-5:8-10"], ""),
        (f"{A}:11-20", [f"{A}:1-5:8"], f"{A}:9-10"),
        (f"{A}:11-20:31-40", [f"{A}:1-10", f"{A}:1-30"], f"{A}:21-30"),
        (f"{A}:11-20", [f"{A}:1-10,{B}:1-7"], ""),
        (f"{A}:1-5:7,{B}:tag:2:4", [None], f"{A}:6,{B}:tag:3"),
        ("0-1-1..10,0-2-11..20,0-1-21..30", [None], ""),
        ("0-1-1..10,0-2-13..20", [None], "0-2-11..12"),
        ("0-1-1..10,7-1-100..110", [None], ""),
    ],
)
def test_holes_are_found_and_what_was_before_is_not_reported(
    logged: str, previous: list[str | None], missing: str
) -> None:
    before = [None if text is None else GtidSet.parse(text) for text in previous]
    assert missing_gtids(GtidSet.parse(logged), before) == GtidSet.parse(missing)
