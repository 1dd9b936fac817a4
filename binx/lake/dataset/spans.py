"""Spans of commit versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FILE_BITS = 32
"""The low bits of a commit version: the offset in its log. The log's number is above them."""

Span = tuple[int, int]
"""A first and a last commit version."""


def united_spans(spans: Sequence[Span]) -> list[Span]:
    """Merge spans, sorted, without overlaps."""
    united: list[Span] = []
    for first, last in sorted(spans):
        if united and first <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], last))
        else:
            united.append((first, last))
    return united


def without(span: Span, others: Iterable[Span]) -> tuple[Span, ...]:
    """Return the parts of a span that are in none of the others."""
    left = []
    start, end = span
    for first, last in sorted(others):
        if first > start:
            left.append((start, min(end, first - 1)))
        start = max(start, last + 1)
        if start > end:
            return tuple(left)
    return (*left, (start, end))
