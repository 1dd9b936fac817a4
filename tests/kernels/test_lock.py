"""Kernels hold Python's lock for no loop over events, rows or records: these are numbered in 64 bits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import binx.kernels

KERNELS = Path(binx.kernels.__file__).parent
FUNCTION = re.compile(r"(?:    )?(?:def|cdef|cpdef) [^=]*\(")
NUMBER = re.compile(r" +cdef int64_t (\w+)")
LOOP = re.compile(r" +for (\w+) in range\(.*:$")


def locked_loops(text: str) -> Iterator[str]:
    """Loops over numbers of 64 bits that no block or function without the lock is around."""
    numbers: set[str] = set()
    without_lock: list[int] = []
    for line in re.sub(r"\(\n[^()]*\n *\)", "()", text).splitlines():
        indent = len(line) - len(line.lstrip())
        without_lock = [outer for outer in without_lock if not line.strip() or outer < indent]
        if FUNCTION.match(line):
            numbers.clear()
        if (number := NUMBER.match(line)) is not None:
            numbers.add(number[1])
        if re.search(r"\bnogil:$", line):
            without_lock.append(indent)
        loop = LOOP.match(line)
        if loop is not None and loop[1] in numbers and not without_lock:
            yield line.strip()


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.pyx")), ids=lambda path: path.stem)
def test_loops_over_events_and_rows_run_without_the_lock(path: Path) -> None:
    assert list(locked_loops(path.read_text("utf-8"))) == []
