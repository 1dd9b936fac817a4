"""The words of the transaction index that its kernel tells by numbers."""

from __future__ import annotations

from collections.abc import Sequence

from binx.kernels.transactions import Kind

KIND_NAMES = {kind: kind.name.removeprefix("KIND_").lower() for kind in Kind}
"""What a transaction's kind is called in listings and data."""

INDEX_WORDS = {
    "kind": [KIND_NAMES[kind] for kind in Kind],
    "how": ["boundary", "length"],
    "commit_time_source": ["terminal_event", "gtid_event"],
}
"""By column, the words that the kernel's numbers stand for."""


def distinct(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Each word once, and for each of the words where it stands among these."""
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    return list(places), [places[word] for word in words]
