"""Texts in the order of a key, in bounded memory: sorted runs go to disk and are merged.

Keys and texts are Arrow columns, so that sorting and merging are a few calls for thousands of texts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

MEMORY_BYTES = 64 * 1024 * 1024
"""Texts and keys that are held at most before they go to disk."""

RUNS = 32
"""Runs that are merged at a time."""

_BLOCK_BYTES = 256 * 1024
_TEXT = pa.large_binary()
_SCHEMA = pa.schema([("key", pa.int64()), ("ordinal", pa.int64()), ("text", _TEXT)])
_ORDER = [("key", "ascending"), ("ordinal", "ascending")]


class TextSorter:
    """Sorts texts by a key, the least first; of equals, those that came first."""

    def __init__(self, *, memory: int = MEMORY_BYTES, runs: int = RUNS) -> None:
        self._memory = memory
        self._fan_in = runs
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, keys: pa.Array, first_ordinal: int, ordinals: pa.Array, text: bytes, ends: bytes) -> None:
        """Take in some texts.

        Args:
            keys: int64, one a text.
            first_ordinal: what is added to the ordinals.
            ordinals: int64; no two texts have the same.
            text: the texts, one behind the other.
            ends: where each ends; int64 in native byte order.
        """
        if not len(keys):
            return
        offsets = pa.py_buffer(b"\0" * 8 + ends)
        texts = pa.Array.from_buffers(_TEXT, len(keys), [None, offsets, pa.py_buffer(text)])
        batch = pa.RecordBatch.from_arrays([keys, pc.add(ordinals, first_ordinal), texts], schema=_SCHEMA)
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes > self._memory:
            self._spill()

    def texts(self) -> Generator[pa.Array, None, None]:
        """All texts in their order, some thousands at a time; large_binary."""
        try:
            last = self._sorted_held()
            if not self._runs:
                yield from (block.column("text") for block in last)
                return
            for block in _merged([*map(_blocks_of, self._runs), last]):
                yield block.column("text")
        finally:
            self.close()

    def close(self) -> None:
        """Give memory and disk back."""
        for run in self._runs:
            run.close()
        self._runs.clear()
        self._held.clear()
        self._held_bytes = 0

    def _sorted_held(self) -> Iterator[pa.RecordBatch]:
        """What is held in its order, in blocks."""
        if not self._held:
            return iter(())
        held = _one_batch(self._held)
        self._held.clear()
        self._held_bytes = 0
        rows = max(1, held.num_rows * _BLOCK_BYTES // max(held.nbytes, 1))
        order = pc.sort_indices(held, sort_keys=_ORDER)
        return (held.take(order.slice(start, rows)) for start in range(0, held.num_rows, rows))

    def _spill(self) -> None:
        self._runs.append(_run_of(self._sorted_held()))
        if len(self._runs) == self._fan_in:
            merged = _run_of(_merged([_blocks_of(run) for run in self._runs]))
            for run in self._runs:
                run.close()
            self._runs = [merged]


def _run_of(blocks: Iterator[pa.RecordBatch]) -> IO[bytes]:
    """Blocks in a file that goes away with its handle."""
    file: Any = TemporaryFile(prefix="binx-sort-")  # noqa: SIM115
    with pa.ipc.new_stream(file, _SCHEMA) as writer:
        for block in blocks:
            writer.write_batch(block)
    file.seek(0)
    return file  # type: ignore[no-any-return]


def _blocks_of(run: IO[bytes]) -> Iterator[pa.RecordBatch]:
    yield from pa.ipc.open_stream(run)


def _merged(runs: list[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The blocks of several runs as those of one.

    Everything up to the least of the blocks' last rows can go out, as what follows in any run is greater;
    that empties a block at least.
    """
    heads = [(block, run) for run in runs if (block := next(run, None)) is not None]
    while heads:
        limit = min(_last(block) for block, _ in heads)
        ready, left = [], []
        for block, run in heads:
            count = _count_up_to(block, limit)
            ready.append(block.slice(0, count))
            rest = block.slice(count) if count < block.num_rows else next(run, None)
            if rest is not None:
                left.append((rest, run))
        heads = left
        whole = _one_batch(ready)
        yield whole.take(pc.sort_indices(whole, sort_keys=_ORDER))


def _one_batch(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches, _SCHEMA).combine_chunks().to_batches()[0]


def _last(block: pa.RecordBatch) -> tuple[int, int]:
    return block.column(0)[-1].as_py(), block.column(1)[-1].as_py()


def _count_up_to(block: pa.RecordBatch, limit: tuple[int, int]) -> int:
    """How many of a block's rows, which are sorted, are not greater than the limit."""
    key, ordinal = limit
    keys, ordinals = block.column(0), block.column(1)
    same = pc.and_(pc.equal(keys, key), pc.less_equal(ordinals, ordinal))
    return int(pc.or_(pc.less(keys, key), same).true_count)


def texts_bytes(texts: pa.Array) -> memoryview:
    """The bytes of texts, one behind the other, without a copy."""
    offsets = memoryview(texts.buffers()[1]).cast("q")[texts.offset :]
    return memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[len(texts)]]
