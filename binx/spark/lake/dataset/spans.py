"""Spans of commit versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FILE_BITS = 32
"""The low bits of a commit version: the offset in its log. The log's number is above them."""

Span = tuple[int, int]
"""A first and a last commit version."""


def united_spans(spans: Sequence[Span]) -> list[Span]:
    """Merge spans, sorted, without overlaps."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def without(span: Span, given: Iterable[Span]) -> tuple[Span, ...]:
    """Return the parts of a span that are in none of the others."""
    left = []
    start, end = span
    for first, last in sorted(given):
        if first > start:
            left.append((start, min(end, first - 1)))
        start = max(start, last + 1)
        if start > end:
            return tuple(left)
    return (*left, (start, end))
