"""Work on a life during a load: cut its keys into pieces, and take over the merged results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from binx.lake.arrow.before_images import ComparedImages
from binx.lake.arrow.keys import from_text, joined, order_of, ranges_of, to_text
from binx.lake.state.loaded_state import LifeState, Options, RangeFile
from binx.lake.tables.lives import FileSpan, SchemaSpan
from binx.lake.tasks.image_sources import KeyDistribution
from binx.lake.tasks.merge import Merged

IN_MEMORY = 5
"""Approximate bytes in memory for each byte of rows on disk."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """A life's keys, cut into ranges; a piece is the cuts that one task merges together.

    Attributes:
        lows: the keys at which cuts begin, without the first cut.
        pieces: for each cut the number of its piece, -1 if nothing changes in it.
        weights: the size of each piece in bytes.
    """

    lows: str
    pieces: tuple[int, ...]
    weights: tuple[int, ...]


def cut(
    ranges: Sequence[RangeFile],
    lows: str,
    seen: Iterable[tuple[KeyDistribution, int]],
    *,
    recut: bool,
    most: int,
) -> Cuts:
    """Cut a life's keys so that no task gets much more than ``most`` bytes."""
    sampled = [(keys, size) for keys, size in seen if keys.sample]
    if not ranges:
        return _new(sampled, most)
    count = len(ranges)
    weights = [file.bytes for file in ranges]
    old = from_text(lows)
    for keys, size in sampled:
        sample = from_text(keys.sample)
        if sample is not None:
            for index in ranges_of(sample, old).tolist():
                weights[index] += size // len(sample)
    groups = _linked(count, (link for keys, _ in sampled for link in keys.links))
    occupied = {groups[index] for keys, _ in sampled for index in keys.occupied}
    pieces: dict[int, int] = {}
    numbers = [
        pieces.setdefault(group, len(pieces)) if recut or group in occupied else -1 for group in groups
    ]
    sizes = [0] * len(pieces)
    for number, weight in zip(numbers, weights, strict=True):
        if number >= 0:
            sizes[number] += weight
    return Cuts(lows, tuple(numbers), tuple(sizes))


def _linked(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """Return, for each range, the first range that it must be merged with."""
    groups = list(range(count))
    for one, other in links:
        low, high = sorted((groups[one], groups[other]))
        groups = [low if group == high else group for group in groups]
    return groups


def _new(sampled: Sequence[tuple[KeyDistribution, int]], most: int) -> Cuts:
    """Cut the keys of a life without files."""
    total = sum(size for _, size in sampled)
    # If images lack columns, rows whose key changed must be merged together with their earlier values.
    if any(keys.is_moved for keys, _ in sampled) or total <= most * 3 // 2:
        return Cuts("", (0,), (total,))
    parts, weights = [], []
    for keys, size in sampled:
        sample = from_text(keys.sample)
        assert sample is not None
        parts.append(sample)
        weights += [size / len(sample)] * len(sample)
    keys_seen = joined(parts)
    assert keys_seen is not None
    order = order_of(keys_seen)
    so_far = np.cumsum(np.array(weights)[order])
    count = max(2, round(total / most))
    places = np.searchsorted(so_far, np.arange(1, count) * (total / count))
    chosen = keys_seen.take(pa.array(order[np.minimum(places, len(order) - 1)])).combine_chunks()
    # A frequent key may be chosen twice.
    kept = np.append(True, np.diff(ranges_of(chosen, chosen)) != 0)
    chosen = chosen.filter(pa.array(kept)).combine_chunks()
    number = len(chosen) + 1
    each = total // number
    return Cuts(to_text(chosen), tuple(range(number)), (each,) * number)


@dataclass(slots=True)
class Work:
    """The work of a load for one life: apply ``units`` to bring its state from ``former`` to ``goal``.

    It goes through stages, each of which merges some epochs with the same key.

    Attributes:
        former: None if nothing is loaded or everything is rebuilt; ``goal`` has no files yet.
        stages: the first and last epoch of each remaining stage; a change of key begins a new stage.
        state: the state after the finished stages.
        comparison: how before images are compared; None if they are not.
        lost: columns with values that became unknown through a change of type.
        unkeyed: by the key's column, rows left out as its values became unknown.
        rekeyed: whether the next stage has another key than the files.
        written: the files that this load wrote.
        copied: files with the rows of a catalog's table that it starts from, None if it has files of its own;
            ``copied_all``, whether these are all rows.
    """

    former: LifeState | None
    goal: LifeState
    epochs: tuple[SchemaSpan, ...]
    to_apply: tuple[FileSpan, ...]
    comparison: ComparedImages | None = None
    stages: list[tuple[int, int]] = field(default_factory=list)
    state: LifeState = field(init=False)
    lost: set[str] = field(default_factory=set)
    unkeyed: Counter[str] = field(default_factory=Counter)
    error: str = ""
    is_small: bool = False
    rekeyed: bool = False
    written: set[str] = field(default_factory=set)
    copied: tuple[RangeFile, ...] | None = None
    copied_all: bool = False

    def __post_init__(self) -> None:
        self.state = self.former or replace(self.goal, epochs=1)

    def begin(self, options: Options) -> None:
        """Divide the work into stages."""
        first, last, ranges = self.state.epochs - 1, len(self.epochs) - 1, self.state.ranges
        size, total = sum(unit.file.bytes for unit in self.to_apply), sum(file.bytes for file in ranges)
        self.is_small = len(ranges) <= 1 and size <= options.small_bytes and total <= options.range_bytes
        # Copied rows are not in ranges of keys.
        self.rekeyed = self.copied is not None and not self.is_small
        numbers = () if self.is_small else range(first + 1, last + 1)
        keyed = [number for number in numbers if _rekeys(self.epochs, number)]
        self.stages = [(begin, end - 1) for begin, end in pairwise([first, *keyed, last + 1])]

    @property
    def life(self) -> str:
        """The life's id."""
        return self.goal.life

    @property
    def base(self) -> tuple[RangeFile, ...]:
        """The files that have the keys of the next stage."""
        return () if self.rekeyed else self.state.ranges

    @property
    def units(self) -> list[FileSpan]:
        """The units of the next stage."""
        first, last = self.stages[0]
        return [unit for unit in self.to_apply if first <= unit.epoch <= last]

    @property
    def is_recut(self) -> bool:
        """Whether all files of the state are rewritten, as their columns or their folder change."""
        former = self.former
        if former is None or self.rekeyed or former.folder != self.goal.folder:
            return True
        return self.stages[0][1] >= former.epochs

    def all_cut(self) -> Cuts:
        """Return a single cut with all keys of a small life, which one task merges."""
        size = sum(unit.file.bytes for unit in self.units) * IN_MEMORY
        return Cuts("", (0,), (size + sum(file.bytes for file in self.base),))

    def take(self, merged: Sequence[Merged], cuts: Cuts) -> list[str]:
        """Take over the merged pieces as the new state; return files of this load that are not needed."""
        state = self.state
        listed = [
            file for piece in merged for _, _, *pair in piece.ranges for file in pair if file is not None
        ]
        files = [*listed, *(file for piece in merged for file in piece.closed)]
        before = {file.path for file in (*state.ranges, *state.versions)} & self.written
        written = {*(file.path for file in files), *before}
        self.written |= written
        self.error = next((piece.error for piece in merged if piece.error), "")
        if self.error:
            return sorted(written)
        by_cut: dict[int, list[tuple[str, RangeFile, RangeFile | None]]] = defaultdict(list)
        closed = [] if self.is_recut else list(state.closed)
        for piece in merged:
            self.lost |= piece.lost
            self.unkeyed += piece.unkeyed
            closed += piece.closed
            for index, low, file, versions in piece.ranges:
                by_cut[index].append((low, file, versions))
        lows = from_text(cuts.lows)
        ranges: list[tuple[pa.Table | None, RangeFile, RangeFile | None]] = []
        for index, number in enumerate(cuts.pieces):
            begin = None if index == 0 or lows is None else lows.slice(index - 1, 1)
            if number < 0:
                ranges.append((begin, state.ranges[index], state.held[index] if state.held else None))
            ranges += [
                (from_text(low) if low else begin, file, versions) for low, file, versions in by_cut[index]
            ]
        full = [entry for entry in ranges if entry[1].rows] or ranges[:1]
        _, last = self.stages.pop(0)
        epoch = self.epochs[last]
        self.state = replace(
            self.goal,
            epochs=last + 1,
            ranges=tuple(file for _, file, _ in full),
            lows=to_text(joined([begin for begin, _, _ in full[1:] if begin is not None])),
            closed=tuple(closed),
            held=tuple(versions for _, _, versions in full if versions is not None),
            columns=epoch.columns,
            key=epoch.key,
            differing=state.differing + sum(piece.differing for piece in merged),
        )
        self.rekeyed = True
        return sorted(written - {file.path for file in (*self.state.ranges, *self.state.versions)})


def _rekeys(epochs: Sequence[SchemaSpan], number: int) -> bool:
    """Whether an epoch's key, or the type of a key column, differs from the previous epoch's."""
    epoch, before = epochs[number], epochs[number - 1]
    return epoch.key != before.key or any(
        change.id in epoch.key and change.id in before.key for change in epoch.changes
    )
