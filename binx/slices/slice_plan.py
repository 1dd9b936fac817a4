"""What a slice takes from which file, and whether it can be one binary log at all.

All runs are looked at before the first byte is written: only then is it known whether the slice is one
contiguous run, and files that do not go together are refused while there is no output yet.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from binx.errors import AbsentError, RefusedError
from binx.event.format import ChecksumAlgorithm, Flavour, FormatDescription
from binx.kernels.transactions.selection import merged_ranges
from binx.log.file import BinlogFile
from binx.slices.search import Run

_NUMBERS = 3
"""Integers that a range takes: start, end, transactions (-1 for one that stands apart)."""


class Range(NamedTuple):
    """Whole transactions that follow each other without a gap.

    Attributes:
        apart: it is one transaction whose GTID event takes more than patching in place.
    """

    start: int
    end: int
    transactions: int
    apart: bool


class Part:
    """Ranges of one file under one format description.

    They are kept as plain numbers, 24 bytes a range: a selection of every other transaction has millions.
    """

    def __init__(self, file: BinlogFile, description: FormatDescription) -> None:
        self.file = file
        self.description = description
        self._numbers = array("q")

    def add(self, ranges: bytes) -> None:
        """Append what :func:`~binx.kernels.ranges.merged_ranges` gave."""
        added = array("q", ranges)
        last = self._numbers
        if last and last[-2] == added[0] and last[-1] > 0 and added[2] > 0:
            last[-2] = added[1]
            last[-1] += added[2]
            del added[:_NUMBERS]
        last += added

    def __iter__(self) -> Iterator[Range]:
        """Give the ranges in order."""
        numbers = self._numbers
        for i in range(0, len(numbers), _NUMBERS):
            transactions = numbers[i + 2]
            yield Range(numbers[i], numbers[i + 1], abs(transactions), transactions < 0)

    @property
    def end(self) -> int:
        """Offset behind the last byte that any range has."""
        return max(self._numbers[1::_NUMBERS])

    @property
    def transactions(self) -> int:
        """How many are taken."""
        return sum(map(abs, self._numbers[2::_NUMBERS]))

    @property
    def is_contiguous(self) -> bool:
        """Whether no byte is left out between the first range and the last."""
        return all(before.end == after.start for before, after in pairwise(self))


class SlicePlan(NamedTuple):
    """A slice that can be written.

    Attributes:
        contiguous: no transaction of the one file is left out between the first and the last.
    """

    parts: tuple[Part, ...]
    description: FormatDescription
    contiguous: bool

    @property
    def transactions(self) -> int:
        """How many are taken."""
        return sum(part.transactions for part in self.parts)


def plan_slice(runs: Iterable[Run], *, verbatim: bool) -> SlicePlan:
    """Collect what runs take.

    Args:
        runs: in the order in which the slice shall have them.
        verbatim: the bytes shall be copied as they are, so that all formats must be the very same.

    Raises:
        AbsentError: they take nothing.
        RefusedError: their formats cannot stand in one file.
        BinxError: what the iteration of ``runs`` raises.
    """
    parts: list[Part] = []
    for run in runs:
        description = run.table.format or run.file.format
        first = parts[0] if parts else Part(run.file, description)
        ranges = merged_ranges(run.table, run.mask, description.checksum is not first.description.checksum)
        if ranges:
            _refuse_mixture(first, Part(run.file, description), verbatim)
            if not parts or parts[-1].file is not run.file or parts[-1].description != description:
                parts.append(Part(run.file, description))
            parts[-1].add(ranges)
    if not parts:
        raise AbsentError("none of the requested transactions found")
    contiguous = len(parts) == 1 and parts[0].is_contiguous
    return SlicePlan(tuple(parts), parts[0].description, contiguous)


class _Format(NamedTuple):
    flavour: Flavour
    version: tuple[int, int, int]
    post_header_lengths: bytes
    checksum: ChecksumAlgorithm | None


def _refuse_mixture(first: Part, other: Part, verbatim: bool) -> None:
    """Events of different formats cannot stand behind one format description."""
    one, another = (
        _Format(
            *(part.description.flavour, part.description.version, part.description.post_header_lengths),
            part.description.checksum if verbatim else None,
        )
        for part in (first, other)
    )
    if one != another:
        advice = " or leave out --verbatim" if one[:-1] == another[:-1] else ""
        raise RefusedError(
            f"a binary log has one format, and the transactions come from files of several ({_name(one)}:"
            f" {first.file.path}; {_name(another)}: {other.file.path}); write a separate output for each of"
            f" these groups of files{advice}"
        )


def _name(key: _Format) -> str:
    version = ".".join(map(str, key.version))
    server = {Flavour.MYSQL: "MySQL", Flavour.MARIADB: "MariaDB"}[key.flavour]
    checksum = "" if key.checksum is None else f" with checksum {key.checksum.name}"
    return f"{server} {version}{checksum}"
