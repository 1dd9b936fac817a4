"""Copies of a process, and where none are made."""

from __future__ import annotations

import warnings
from threading import Event, Thread

from binx.export.copies import Copy, can_fork


def test_a_process_with_other_threads_is_not_copied() -> None:
    done = Event()
    thread = Thread(target=done.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        done.set()
        thread.join()


def test_a_copy_is_made_without_a_warning() -> None:
    """From Python 3.12 on `os.fork` warns where there are other threads, those of Arrow's allocator too."""
    done = Event()
    thread = Thread(target=done.wait)
    thread.start()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            Copy(lambda: None).stop()
        assert [str(one.message) for one in told] == []
    finally:
        done.set()
        thread.join()
