"""Which keys go into which task: cuts of a life's keys, and pieces of cuts that are merged together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from binx.spark.lake.arrow.keys import from_text, joined, order_of, ranges_of, to_text
from binx.spark.lake.model import RangeFile
from binx.spark.lake.sources import Keys


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
    samples = [(from_text(keys.sample), size) for keys, size in found]
    old = from_text(lows)
    for sample, size in samples:
        if sample is not None:
            for place in ranges_of(sample, old).tolist():
                weights[place] += size // len(sample)
    met = set().union(*(keys.met for keys, _ in found)) if found else set()
    groups = _linked(count, (link for keys, _ in found for link in keys.links))
    met |= {place for place in range(count) if any(groups[place] == groups[one] for one in met)}
    pieces = [-1] * count
    sizes: list[int] = []
    of_group: dict[int, int] = {}
    last = -2
    for place in range(count):
        if not anew and place not in met:
            continue
        group = groups[place]
        alone = sum(one == group for one in groups) == 1
        if not alone and group in of_group:
            pieces[place] = of_group[group]
        elif alone and last == place - 1 and sizes[-1] + weights[place] <= most:
            pieces[place] = len(sizes) - 1
        else:
            pieces[place] = len(sizes)
            sizes.append(0)
            of_group[group] = pieces[place]
        sizes[pieces[place]] += weights[place]
        last = place if alone and pieces[place] == len(sizes) - 1 else -2
    return Cuts(lows, tuple(range(count)), tuple(pieces), tuple(sizes))


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
