"""The figures that running sums tell: by kind, server, connection, size and time, and bursts among those."""

from __future__ import annotations

from itertools import groupby
from statistics import median

from binx.kernels.transactions.sums import Tally
from binx.log.scanning import KIND_NAMES
from binx.log.selection.moments import MICROSECONDS
from binx.stats.dimensions import size_bound, size_step
from binx.stats.records import (
    Bucket,
    Burst,
    Compression,
    Histogram,
    KindFigures,
    ServerFigures,
    SizeFigures,
    ThreadFigures,
)

_BURST_TIMES = 4
_BURST_SPANS = 8
_BURST_SHARE = 100
_THREAD_BITS = 32
_THREAD_MASK = (1 << _THREAD_BITS) - 1


def kind_figures(tally: Tally, *, quick: bool) -> tuple[KindFigures, ...]:
    """By kind, the most frequent first."""
    figures = [
        KindFigures(KIND_NAMES[kind], transactions, size, None if quick else rows)
        for kind, (transactions, size, rows) in tally.kinds.items()
    ]
    return tuple(sorted(figures, key=lambda one: (-one.transactions, one.kind)))


def server_figures(tally: Tally, *, quick: bool) -> tuple[ServerFigures, ...]:
    """By the server that made the change first, the one with most bytes first."""
    figures = [
        ServerFigures(server, transactions, size, None if quick else rows)
        for server, transactions, size, rows in tally.servers
    ]
    return tuple(sorted(figures, key=lambda one: (-one.bytes, one.server_id)))


def thread_figures(tally: Tally, top: int, *, quick: bool) -> tuple[ThreadFigures, ...]:
    """The connections with most bytes."""
    most = sorted(tally.threads, key=lambda one: (-one[2], one[0]))[:top]
    return tuple(
        ThreadFigures(key >> _THREAD_BITS, key & _THREAD_MASK, transactions, size, None if quick else rows)
        for key, transactions, size, rows in most
    )


def size_figures(tally: Tally) -> tuple[SizeFigures, ...]:
    """By size: below 1 KiB, then in steps of four; the tally knows the bits that each size takes."""
    classes: dict[int, list[int]] = {}
    for bits, (transactions, size, _) in tally.sizes.items():
        sums = classes.setdefault(size_step(bits), [0, 0])
        sums[0] += transactions
        sums[1] += size
    return tuple(
        SizeFigures(size_bound(step), size_bound(step + 1), *classes[step]) for step in sorted(classes)
    )


def histogram(tally: Tally, *, quick: bool) -> Histogram | None:
    """Transactions over commit time; None where there are none."""
    seconds, first, sums = tally.histogram
    if not sums:
        return None
    return Histogram(
        seconds,
        tuple(
            Bucket((first + place * seconds) * MICROSECONDS, transactions, size, None if quick else rows)
            for place, (transactions, size, rows) in enumerate(sums)
        ),
    )


def compression_figures(tally: Tally) -> Compression:
    """What was compressed as a whole."""
    transactions, size, _, uncompressed = tally.compressed
    return Compression(transactions, size, uncompressed, round(uncompressed / size, 2) if size else None)


def bursts(histogram: Histogram | None) -> tuple[Burst, ...]:
    """The runs of neighbouring spans that each have over four times the usual bytes, the largest first.

    What is usual is the median of the spans in which anything was committed. A run counts where it has at
    least a hundredth of all bytes; of fewer than eight spans with transactions none is unusual.
    """
    if histogram is None:
        return ()
    sizes = [bucket.bytes for bucket in histogram.buckets if bucket.transactions]
    if len(sizes) < _BURST_SPANS:
        return ()
    usual = median(sizes)
    found = []
    for above, run in groupby(histogram.buckets, key=lambda bucket: bucket.bytes > _BURST_TIMES * usual):
        spans = list(run)
        size = sum(span.bytes for span in spans)
        if above and size * _BURST_SHARE >= sum(sizes):
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
