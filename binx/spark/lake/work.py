"""A life on its way through a load: how its keys are cut into pieces, and what these are merged into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from binx.spark.lake.arrow.keys import from_text, joined, order_of, ranges_of, to_text
from binx.spark.lake.merge import Merged
from binx.spark.lake.model import Epoch, LifePlan, LifeState, RangeFile, Unit
from binx.spark.lake.sources import Keys

IN_MEMORY = 5
"""Bytes that rows take in memory for each of theirs on disk, about."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """A life's keys, cut.

    Attributes:
        lows: where cuts begin, without the first.
        files: for each cut the number of the range whose file holds its keys now, -1 where none does.
        pieces: for each cut the number of its piece, -1 where nothing changes.
        weights: of each piece, in bytes.
    """

    lows: str
    files: tuple[int, ...]
    pieces: tuple[int, ...]
    weights: tuple[int, ...]


def cut(
    ranges: Sequence[RangeFile], lows: str, seen: Iterable[tuple[Keys, int]], *, anew: bool, most: int
) -> Cuts:
    """Cut a life's keys so that no task has much more than it should."""
    found = [(keys, size) for keys, size in seen if keys.sample]
    if not ranges:
        return _new(found, most)
    count = len(ranges)
    weights = [one.bytes for one in ranges]
    old = from_text(lows)
    for keys, size in found:
        sample = from_text(keys.sample)
        if sample is not None:
            for place in ranges_of(sample, old).tolist():
                weights[place] += size // len(sample)
    groups = _linked(count, (link for keys, _ in found for link in keys.links))
    met = {groups[place] for keys, _ in found for place in keys.met}
    pieces: dict[int, int] = {}
    numbers = [pieces.setdefault(group, len(pieces)) if anew or group in met else -1 for group in groups]
    sizes = [0] * len(pieces)
    for number, weight in zip(numbers, weights, strict=True):
        if number >= 0:
            sizes[number] += weight
    return Cuts(lows, tuple(range(count)), tuple(numbers), tuple(sizes))


def _linked(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """For each range the first one that it must be merged with."""
    groups = list(range(count))
    for one, other in links:
        low, high = sorted((groups[one], groups[other]))
        groups = [low if group == high else group for group in groups]
    return groups


def _new(found: Sequence[tuple[Keys, int]], most: int) -> Cuts:
    """Cuts of keys of which nothing is there yet."""
    total = sum(size for _, size in found)
    # Rows that moved with images that lack columns must meet what they were before.
    if any(keys.is_moved for keys, _ in found) or total <= most * 3 // 2:
        return Cuts("", (-1,), (0,), (total,))
    parts, weights = [], []
    for keys, size in found:
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
    # A key that is met often may be chosen twice.
    kept = np.append(True, np.diff(ranges_of(chosen, chosen)) != 0)
    chosen = chosen.filter(pa.array(kept)).combine_chunks()
    number = len(chosen) + 1
    each = total // number
    return Cuts(to_text(chosen), (-1,) * number, tuple(range(number)), (each,) * number)


@dataclass(slots=True)
class Work:
    """A life on its way through stages.

    Attributes:
        stages: the first and last epochs of those to come; a key that changes begins another one.
        ranges: the files of the state as it is now; ``lows``, where each begins.
        before: the columns of these files.
        closed: files of ended versions.
        held: files of versions that hold, one for each range.
        lost: columns of which values are not known since they got another type.
        rekeyed: whether the stage that is next has another key than the files.
        written: the files that this load wrote.
    """

    plan: LifePlan
    stages: list[tuple[int, int]]
    ranges: tuple[RangeFile, ...] = ()
    lows: str = ""
    before: Epoch | None = None
    closed: list[RangeFile] = field(default_factory=list)
    held: tuple[RangeFile, ...] = ()
    lost: set[str] = field(default_factory=set)
    error: str = ""
    is_small: bool = False
    rekeyed: bool = False
    written: set[str] = field(default_factory=set)

    @property
    def life(self) -> str:
        """Its id."""
        return self.plan.goal.life

    @property
    def state(self) -> LifeState:
        """What is loaded when all is done."""
        versions = (tuple(self.closed), self.held) if self.plan.scd2 else None
        return replace(self.plan.goal, ranges=self.ranges, lows=self.lows, versions=versions)

    def units(self) -> list[Unit]:
        """Those of the stage that is next."""
        first, last = self.stages[0]
        return [unit for unit in self.plan.units if first <= unit.epoch <= last]

    @property
    def is_anew(self) -> bool:
        """Whether all files of the state are written anew: their columns or their place are others."""
        former = self.plan.former
        if former is None or self.rekeyed or former.folder != self.plan.goal.folder:
            return True
        return self.stages[0][1] >= former.epochs


def rekeys(epochs: Sequence[Epoch], place: int) -> bool:
    """Whether an epoch has another key than the one before, or one of other types."""
    epoch, before = epochs[place], epochs[place - 1]
    return epoch.key != before.key or any(
        change.id in epoch.key and change.former is not None for change in epoch.changes
    )


def one_cut(work: Work) -> Cuts:
    """All keys of a small life, which one task merges."""
    size = sum(unit.file.bytes for unit in work.units()) * IN_MEMORY
    files = (0,) if work.ranges else (-1,)
    return Cuts("", files, (0,), (size + sum(one.bytes for one in work.ranges),))


def take_merged(work: Work, merged: Sequence[Merged], cuts: Cuts) -> list[str]:
    """Let a life's state be what its pieces were merged into; the files that this load wrote in vain."""
    written = [
        file.path
        for one in merged
        for file in (*one.closed, *(file for _, _, *pair in one.ranges for file in pair if file is not None))
    ]
    written += [file.path for file in (*work.ranges, *work.held, *work.closed) if file.path in work.written]
    work.written.update(written)
    work.error = next((one.error for one in merged if one.error), "")
    if work.error:
        return written
    made: dict[int, list[tuple[str, RangeFile, RangeFile | None]]] = defaultdict(list)
    for one in merged:
        work.lost |= one.lost
        for place, low, file, held in one.ranges:
            made[place].append((low, file, held))
    if work.is_anew:
        work.closed = []
    work.closed += [file for one in merged for file in one.closed]
    lows = from_text(cuts.lows)
    found: list[tuple[pa.Table | None, RangeFile, RangeFile | None]] = []
    for place, piece in enumerate(cuts.pieces):
        begin = None if place == 0 or lows is None else lows.slice(place - 1, 1)
        if piece < 0:
            found.append((begin, work.ranges[place], work.held[place] if work.held else None))
        found += [(from_text(low) if low else begin, file, held) for low, file, held in made[place]]
    full = [one for one in found if one[1].rows] or found[:1]
    work.ranges = tuple(file for _, file, _ in full)
    work.held = tuple(held for _, _, held in full if held is not None)
    work.lows = to_text(joined([begin for begin, _, _ in full[1:] if begin is not None]))
    _, last = work.stages.pop(0)
    work.before, work.rekeyed = work.plan.epochs[last], True
    kept = {file.path for file in (*work.ranges, *work.held, *work.closed)}
    return [path for path in written if path not in kept]
