"""Lanes of work: in order within, side by side among each other, bounded in what they hold."""

from __future__ import annotations

import os
from functools import partial
from threading import Barrier, Event, Lock, Thread

import pytest

from binx.export.workers import Workers, usable_processors

TIMEOUT = 30
"""Seconds until a thread that waits in vain makes the test fail."""


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_pieces_of_a_lane_are_done_in_order(jobs: int) -> None:
    done: list[list[int]] = [[] for _ in range(4)]
    with Workers(jobs, 100) as workers:
        lanes = [workers.lane() for _ in done]
        for number in range(200):
            for lane, numbers in zip(lanes, done, strict=True):
                lane.submit(partial(numbers.append, number), 7)
        for lane in lanes:
            lane.join()
    assert done == [list(range(200))] * 4


def test_lanes_go_on_side_by_side() -> None:
    meeting = Barrier(2)
    with Workers(2, 10) as workers:
        lanes = [workers.lane(), workers.lane()]
        for lane in lanes:
            lane.submit(partial(meeting.wait, TIMEOUT))
        for lane in lanes:
            lane.join()
    assert not meeting.broken


def test_one_job_does_each_piece_at_once() -> None:
    done: list[int] = []
    with Workers(1, 0) as workers:
        lane = workers.lane()
        lane.submit(lambda: done.append(1), 1_000)
        assert done == [1]
        with pytest.raises(ZeroDivisionError):
            lane.submit(lambda: 1 // 0)


@pytest.mark.parametrize("size", [10, 60, 250])
def test_no_more_is_held_than_the_limit_but_for_one_larger_piece(size: int) -> None:
    held = most = 0
    lock = Lock()

    def let_go() -> None:
        nonlocal held
        with lock:
            held -= size

    with Workers(3, 100) as workers:
        lanes = [workers.lane() for _ in range(3)]
        for number in range(90):
            # The piece handed over last waits for room while it is counted here.
            with lock:
                held += size
                most = max(most, held)
            lanes[number % 3].submit(let_go, size)
        for lane in lanes:
            lane.join()
    assert most <= max(100, size) + 4 * size
    assert held == 0


@pytest.mark.parametrize("jobs", [2, 3])
def test_an_error_ends_its_lane_and_no_other(jobs: int) -> None:
    done: list[str] = []
    go_on = Event()

    def fail() -> None:
        go_on.wait(TIMEOUT)
        raise OSError("the disk is full")

    with Workers(jobs, 100) as workers:
        broken, whole = workers.lane(), workers.lane()
        broken.submit(fail, 10)
        broken.submit(lambda: done.append("behind the error"), 10)
        whole.submit(lambda: done.append("whole"), 10)
        go_on.set()
        with pytest.raises(OSError, match="full"):
            broken.join()
        with pytest.raises(OSError, match="full"):
            broken.submit(lambda: done.append("later"), 10)
        whole.join()
        # What the dropped pieces held is free again.
        whole.submit(lambda: done.append("large"), 100)
        whole.join()
    assert done == ["whole", "large"]


def test_dropped_pieces_are_not_done() -> None:
    """Two lanes keep both threads busy, so that a third one's pieces wait."""
    begun, go_on = Barrier(3), Event()
    done: list[int] = []

    def first() -> None:
        begun.wait(TIMEOUT)
        go_on.wait(TIMEOUT)
        done.append(1)

    with Workers(2, 40) as workers:
        lanes = [workers.lane(), workers.lane()]
        for lane in lanes:
            lane.submit(first, 10)
        begun.wait(TIMEOUT)
        waiting = workers.lane()
        waiting.submit(lambda: done.append(2), 10)
        waiting.submit(lambda: done.append(3), 10)
        dropping = Thread(target=waiting.drop)
        dropping.start()
        # There is room for it only when the pieces are dropped.
        workers.lane().submit(lambda: None, 20)
        go_on.set()
        dropping.join(TIMEOUT)
        for lane in lanes:
            lane.join()
    assert done == [1, 1]


def test_processors_that_this_process_may_not_use_do_not_count() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_all_processors_count_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usable_processors() == 6
