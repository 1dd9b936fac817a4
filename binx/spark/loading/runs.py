"""Sorted runs: new rows on their way into ``current/``.

A run holds of some rows that follow each other in time the last image of each key, in the order of the keys,
as an Arrow file of small batches. Since the first key of each batch is known, a task reads of a run no
more than the keys that it works on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from .keys import Key, Keys, last_of_each, ranges_met

if TYPE_CHECKING:
    import pyarrow as pa

GONE = "_gone"
_RUN_BYTES = 128 << 20
_BATCH_ROWS = 4096
_LEAST_BATCHES = 16


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was written.

    Attributes:
        path: its file.
        firsts: the first key of each batch.
        sizes: the bytes of each batch, in memory.
        met: the ranges that its keys fall into.
    """

    path: str
    firsts: tuple[Key, ...]
    sizes: tuple[int, ...]
    met: frozenset[int]

    def batches(self, low: Key | None, high: Key | None) -> tuple[int, int]:
        """The batches that hold all keys from ``low`` up to ``high``: the first, and the one behind."""
        first = 0 if low is None else max(0, bisect_right(self.firsts, low) - 1)
        last = len(self.firsts) if high is None else bisect_left(self.firsts, high)
        return first, max(first, last)


class RunWriter:
    """Cuts rows that come in order of time into runs.

    Args:
        folder: where they are written.
        key: the key's columns.
        lows: where each range that is there already begins, without the first.
    """

    def __init__(self, folder: Path, key: Sequence[str], lows: Sequence[Key]) -> None:
        self.runs: list[Run] = []
        self._folder = folder
        self._key = key
        self._lows = lows
        self._held: list[pa.Table] = []
        self._bytes = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows, with ``_gone`` where the image says that the key's row is no more."""
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _RUN_BYTES:
            self.close()

    def close(self) -> None:
        """Write what is held as a run."""
        import pyarrow as pa
        from pyarrow import ipc

        if not self._bytes:
            return
        rows = pa.concat_tables(self._held).combine_chunks()
        self._held, self._bytes = [], 0
        last = rows.take(last_of_each(rows, self._key)).combine_chunks()
        path = self._folder / f"run-{uuid4().hex}.arrow"
        self._folder.mkdir(parents=True, exist_ok=True)
        keys = Keys(last, self._key)
        count = max(1, min(_BATCH_ROWS, len(last) // _LEAST_BATCHES))
        batches = last.to_batches(max_chunksize=count)
        options = ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        with ipc.new_file(str(path), last.schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
        self.runs.append(
            Run(
                str(path),
                tuple(keys[place] for place in range(0, len(last), count)),
                tuple(batch.nbytes for batch in batches),
                ranges_met(keys, self._lows),
            )
        )


def read_batches(path: str, first: int, last: int) -> pa.Table:
    """Some batches of a run."""
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(path) as source:
        file = ipc.open_file(source, options=ipc.IpcReadOptions(use_threads=False))
        return pa.Table.from_batches([file.get_batch(place) for place in range(first, last)], file.schema)
