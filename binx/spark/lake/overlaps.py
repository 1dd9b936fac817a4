"""What exports of one chain repeat of each other: the same log exported twice, in parts, or while it grew.

Where an export has every transaction of its span, commit versions settle which of its files are read. Files
of exports that may lack some are compared, transaction by transaction, with those that they overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import RefusedError
from binx.spark.lake.manifests import Span
from binx.spark.lake.model import ChangesFile
from binx.spark.lake.place import Place


def without(span: Span, given: Iterable[Span]) -> tuple[Span, ...]:
    """What is left of a span when others are taken out."""
    left = []
    start, end = span
    for first, last in sorted(given):
        if first > start:
            left.append((start, min(end, first - 1)))
        start = max(start, last + 1)
        if start > end:
            return tuple(left)
    return (*left, (start, end))


def clipped(file: ChangesFile, spans: Sequence[Span]) -> ChangesFile | None:
    """A file of which only the rows within spans count; None where there are none."""
    inside = [
        (max(first, file.first), min(last, file.last))
        for first, last in spans
        if first <= file.last and last >= file.first
    ]
    if not inside:
        return None
    if inside == [(file.first, file.last)]:
        return file
    first, last = inside[0][0], inside[-1][1]
    return replace(file, first=first, last=last, spans=tuple(inside))


def without_repeated(
    arrived: Sequence[tuple[ChangesFile, bool]], history: Sequence[ChangesFile], output: Place
) -> list[ChangesFile]:
    """Files of one table and chain without the transactions that another one holds.

    Raises:
        RefusedError: exports with a condition on rows repeat transactions; which rows of one the other has,
            nothing tells.
    """
    taken = list(history)
    found = []
    for file, by_rows in arrived:
        touching = [one for one in taken if one.first <= file.last and one.last >= file.first]
        repeated: set[int] = set()
        if touching:
            ours = commit_versions(file, output)
            for one in touching:
                repeated |= ours & commit_versions(one, output)
        if repeated and by_rows:
            raise RefusedError(
                f"{file.path} was exported with --where and repeats transactions of other exports: export"
                " that log without a condition, or load it into a folder of its own"
            )
        kept = replace(file, dropped=tuple(sorted({*file.dropped, *repeated}))) if repeated else file
        if not repeated or ours - repeated:
            found.append(kept)
            taken.append(kept)
    return found


def commit_versions(file: ChangesFile, output: Place) -> set[int]:
    """The commit versions of the rows of a file that count."""
    place = Place(file.root) if file.root else output
    rows = pq.read_table(
        place.inside(file.path), columns=["_commit_version"], filesystem=place.filesystem, partitioning=None
    )
    found = pc.unique(pc.cast(rows.column(0), pa.int64())).to_pylist()
    spans = file.spans or ((file.first, file.last),)
    dropped = set(file.dropped)
    return {one for one in found if one not in dropped and any(first <= one <= last for first, last in spans)}
