"""``current/`` in ranges of the key: a file for each, in whose order its rows are.

A load rewrites only the ranges that its keys fall into. Which file holds which range stands in
``_ranges.arrow`` beside the files; a snapshot without it, as Spark's writer makes one, is not divided.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from .keys import Key, to_columns
from .runs import Run
from .storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa

_INDEX = "_ranges.arrow"
_LOW = "low_{}"
RANGE_BYTES = 128 << 20
"""What a task merges at once, about, in memory."""


@dataclass(frozen=True, slots=True)
class Range:
    """A file of a snapshot; ``bytes`` are those of its rows in memory, ``low`` is where its keys begin.

    The first range begins below all keys, whatever its ``low``.
    """

    file: str
    rows: int
    bytes: int
    low: Key


def write_index(storage: Storage, folder: str, ranges: Iterable[Range], kinds: Sequence[pa.DataType]) -> None:
    """Keep which ranges the files of a snapshot have.

    Args:
        storage: where the snapshot is.
        folder: the snapshot's.
        ranges: in order.
        kinds: the types in which the key's columns are compared.
    """
    import pyarrow as pa
    from pyarrow import ipc

    listed = list(ranges)
    columns = {
        "file": pa.array([one.file for one in listed], pa.string()),
        "rows": pa.array([one.rows for one in listed], pa.int64()),
        "bytes": pa.array([one.bytes for one in listed], pa.int64()),
    }
    lows = to_columns((one.low for one in listed), kinds)
    columns |= {_LOW.format(place): low for place, low in enumerate(lows)}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    storage.replace(f"{folder}/{_INDEX}", sink.getvalue().to_pybytes())


def read_index(storage: Storage, folder: str) -> list[Range] | None:
    """The ranges of a snapshot, in order; None where it is not divided into any."""
    from pyarrow import ipc

    path = f"{folder}/{_INDEX}"
    if not storage.exists(path):
        return None
    table = ipc.open_stream(storage.read(path)).read_all()
    lows = [table.column(name).to_pylist() for name in table.column_names if name.startswith(_LOW.format(""))]
    keys = [tuple((value is None, value) for value in values) for values in zip(*lows, strict=True)]
    names, rows, sizes = (table.column(name).to_pylist() for name in ("file", "rows", "bytes"))
    return [Range(*found) for found in zip(names, rows, sizes, keys, strict=True)]


@dataclass(slots=True)
class Piece:
    """Keys that one task merges: the files that hold them now, and where they begin and end."""

    files: list[str] = field(default_factory=list)
    low: Key | None = None
    high: Key | None = None


@dataclass(slots=True)
class _Share:
    """A range on its way into pieces: what it has now, and what comes to it."""

    file: Range | None
    low: Key | None
    added: list[tuple[Key, int]]

    @property
    def bytes(self) -> int:
        return (self.file.bytes if self.file else 0) + sum(size for _, size in self.added)


def plan_pieces(former: Sequence[Range], runs: Sequence[Run], *, all_anew: bool) -> list[Piece | Range]:
    """What to do with each range, in order: merge what is in a piece, keep a range as it is.

    Ranges beside each other that are merged go together up to :data:`RANGE_BYTES`, and larger ones are
    divided where the keys of the runs say.

    Args:
        former: the ranges that are there; none for a new table.
        runs: what comes.
        all_anew: whether ranges into which no keys fall are rewritten too.
    """
    lows = [one.low for one in former[1:]]
    added: list[list[tuple[Key, int]]] = [[] for _ in range(len(lows) + 1)]
    for run in runs:
        for first, size in zip(run.firsts, run.sizes, strict=True):
            added[bisect_right(lows, first)].append((first, size))
    met = {place for run in runs for place in run.met}
    found: list[Piece | Range] = []
    last: Piece | None = None
    held = 0
    for place, new in enumerate(added):
        file = former[place] if former else None
        share = _Share(file, lows[place - 1] if place else None, sorted(new, key=lambda one: one[0]))
        if file is not None and not all_anew and place not in met:
            found.append(file)
            last = None
            continue
        if last is None or held + share.bytes > RANGE_BYTES:
            found.extend(_divided(share))
            assert isinstance(found[-1], Piece)
            last, held = found[-1], share.bytes
        else:
            last.files += [file.file] if file else []
            held += share.bytes
    for one, following in pairwise(found):
        if isinstance(one, Piece):
            one.high = following.low
    return found


def _divided(share: _Share) -> list[Piece]:
    """A range as pieces of about the size that a task is to merge."""
    files = [share.file.file] if share.file else []
    pieces = [Piece(files, share.low)]
    if share.bytes <= RANGE_BYTES * 3 // 2:
        return pieces
    held = 0
    for key, size in share.added:
        if held + size > RANGE_BYTES and (pieces[-1].low is None or key > pieces[-1].low):
            pieces.append(Piece(list(files), key))
            held = 0
        held += size
    return pieces
