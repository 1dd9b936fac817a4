"""Work that is done beside whoever hands it over: in order, bounded, and its errors are told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, current_thread

import pytest

from binx.dataset.source_files import Background
from binx.errors import ResourceError


@pytest.mark.parametrize("has_thread", [True, False])
def test_work_is_done_in_order(has_thread: bool) -> None:
    done: list[int] = []
    threads = set()
    background = Background(10, has_thread=has_thread)

    def work(number: int) -> None:
        threads.add(current_thread())
        done.append(number)

    for number in range(100):
        background.do(lambda number=number: work(number), 3)  # type: ignore[misc]
    background.join()
    background.close()
    assert done == list(range(100))
    assert (current_thread() in threads) == (not has_thread)
    assert len(threads) == 1


def test_whoever_hands_over_too_much_waits() -> None:
    begun, may_end = Event(), Event()
    background = Background(10, has_thread=True)

    def wait() -> None:
        begun.set()
        may_end.wait()

    background.do(wait, 8)
    begun.wait()
    background.do(lambda: None, 2)
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(background.do, lambda: None, 1)
        assert not third.done()
        may_end.set()
        third.result()
    background.close()


@pytest.mark.parametrize("has_thread", [True, False])
def test_an_error_is_told(has_thread: bool) -> None:
    def fail() -> None:
        raise KeyError("it")

    background = Background(10, has_thread=has_thread)

    def do() -> None:
        background.do(fail)
        background.join()

    with pytest.raises(KeyError, match="it"):
        do()
    background.close()


def test_a_system_without_threads_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", none)
    with pytest.raises(ResourceError, match="threads"):
        Background(10, has_thread=True).do(lambda: None)
