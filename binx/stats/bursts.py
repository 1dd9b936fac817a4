"""Bursts: when the logs grew much faster than they usually did."""

from __future__ import annotations

from itertools import groupby

from binx.log.selection.moments import MICROSECONDS
from binx.stats.records import Burst, Histogram

_TIMES = 4
_LEAST_SPANS = 8
_SHARE = 100


def bursts(histogram: Histogram | None) -> tuple[Burst, ...]:
    """The runs of neighbouring spans that each have over four times the usual bytes, the largest first.

    What is usual is the median of the spans in which anything was committed. A run counts where it has at
    least a hundredth of all bytes; of fewer than eight spans with transactions none is unusual.
    """
    if histogram is None:
        return ()
    sizes = [bucket.bytes for bucket in histogram.buckets if bucket.transactions]
    if len(sizes) < _LEAST_SPANS:
        return ()
    usual = _median(sizes)
    found = []
    for above, run in groupby(histogram.buckets, key=lambda bucket: bucket.bytes > _TIMES * usual):
        spans = list(run)
        size = sum(span.bytes for span in spans)
        if above and size * _SHARE >= sum(sizes):
            found.append(
                Burst(
                    start=spans[0].start,
                    end=spans[-1].start + histogram.bucket_seconds * MICROSECONDS,
                    transactions=sum(span.transactions for span in spans),
                    bytes=size,
                    times_usual=round(size / len(spans) / usual, 1),
                )
            )
    return tuple(sorted(found, key=lambda burst: (-burst.bytes, burst.start)))


def _median(sizes: list[int]) -> float:
    """As ``statistics`` has it, which takes longer to load than all figures of a small log."""
    ordered, half = sorted(sizes), len(sizes) // 2
    return ordered[half] if len(sizes) % 2 else (ordered[half - 1] + ordered[half]) / 2
