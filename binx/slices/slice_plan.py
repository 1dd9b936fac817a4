"""Plan a slice: the ranges to take from each file, and whether they fit into one binary log.

All runs are read before the first byte is written: only then is it known whether the slice is one contiguous
run, and incompatible files are refused before there is any output.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from binx.errors import AbsentError, RefusedError
from binx.event.format import ChecksumAlgorithm, Flavour, FormatDescription
from binx.kernels.transactions.summaries import merged_ranges
from binx.log.binlog_file import BinlogFile
from binx.slices.search import Selected

_NUMBERS = 3
"""Integers per range: start, end, transactions (-1 for a single one that is kept apart)."""


class Range(NamedTuple):
    """Consecutive whole transactions without a gap.

    Attributes:
        apart: whether it is one transaction whose GTID event cannot be patched in place.
    """

    start: int
    end: int
    transactions: int
    apart: bool


class FileRanges:
    """Ranges of one file under one format description.

    Ranges are kept as plain numbers, 24 bytes each: a selection of every other transaction has millions.
    """

    def __init__(self, file: BinlogFile, description: FormatDescription) -> None:
        self.file = file
        self.description = description
        self._numbers = array("q")

    def add(self, ranges: bytes) -> None:
        """Append the result of :func:`~binx.kernels.transactions.selection.merged_ranges`."""
        added = array("q", ranges)
        last = self._numbers
        if last and last[-2] == added[0] and last[-1] > 0 and added[2] > 0:
            last[-2] = added[1]
            last[-1] += added[2]
            del added[:_NUMBERS]
        last += added

    def __iter__(self) -> Iterator[Range]:
        """Yield the ranges in order."""
        numbers = self._numbers
        for i in range(0, len(numbers), _NUMBERS):
            transactions = numbers[i + 2]
            yield Range(numbers[i], numbers[i + 1], abs(transactions), transactions < 0)

    @property
    def end(self) -> int:
        """Offset after the last byte of any range."""
        return max(self._numbers[1::_NUMBERS])

    @property
    def transactions(self) -> int:
        """Number of transactions."""
        return sum(map(abs, self._numbers[2::_NUMBERS]))

    @property
    def is_contiguous(self) -> bool:
        """Whether no byte is left out between the first and the last range."""
        return all(before.end == after.start for before, after in pairwise(self))


class SlicePlan(NamedTuple):
    """A slice that can be written.

    Attributes:
        contiguous: whether it is from one file, without a gap between the first and the last transaction.
    """

    files: tuple[FileRanges, ...]
    description: FormatDescription
    contiguous: bool

    @property
    def transactions(self) -> int:
        """Number of transactions."""
        return sum(ranges.transactions for ranges in self.files)


def plan_slice(runs: Iterable[Selected], *, verbatim: bool) -> SlicePlan:
    """Collect the ranges of some runs.

    Args:
        runs: the runs in the order of the slice.
        verbatim: bytes will be copied unchanged, so all formats must be identical.

    Raises:
        AbsentError: the runs have no transactions.
        RefusedError: the formats cannot be mixed in one file.
        BinxError: the iteration of ``runs`` failed.
    """
    files: list[FileRanges] = []
    for run in runs:
        description = run.table.format or run.file.format
        first = files[0] if files else FileRanges(run.file, description)
        ranges = merged_ranges(run.table, run.mask, description.checksum is not first.description.checksum)
        if ranges:
            _refuse_mixture(first, FileRanges(run.file, description), verbatim)
            if not files or files[-1].file is not run.file or files[-1].description != description:
                files.append(FileRanges(run.file, description))
            files[-1].add(ranges)
    if not files:
        raise AbsentError("none of the requested transactions found")
    contiguous = len(files) == 1 and files[0].is_contiguous
    return SlicePlan(tuple(files), files[0].description, contiguous)


class _Format(NamedTuple):
    flavour: Flavour
    version: tuple[int, int, int]
    post_header_lengths: bytes
    checksum: ChecksumAlgorithm | None


def _refuse_mixture(first: FileRanges, other: FileRanges, verbatim: bool) -> None:
    """Refuse to mix events of different formats under one format description."""
    old, new = (
        _Format(
            *(ranges.description.flavour, ranges.description.version, ranges.description.post_header_lengths),
            ranges.description.checksum if verbatim else None,
        )
        for ranges in (first, other)
    )
    if old != new:
        advice = " or leave out --verbatim" if old[:-1] == new[:-1] else ""
        raise RefusedError(
            f"a binary log has one format, and the transactions come from files of several ({_name(old)}:"
            f" {first.file.path}; {_name(new)}: {other.file.path}); write a separate output for each of"
            f" these groups of files{advice}"
        )


def _name(key: _Format) -> str:
    version = ".".join(map(str, key.version))
    server = {Flavour.MYSQL: "MySQL", Flavour.MARIADB: "MariaDB"}[key.flavour]
    checksum = "" if key.checksum is None else f" with checksum {key.checksum.name}"
    return f"{server} {version}{checksum}"
