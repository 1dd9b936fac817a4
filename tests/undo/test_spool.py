"""Texts come back from the last to the first, where they were put."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from binx.undo.spool import PIECE_BYTES, ReverseSpool

TEXTS = st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 5)), max_size=30)


def read(texts: ReverseSpool) -> list[bytes]:
    return [b"".join(pieces) for *_, pieces in texts.backwards()]


@given(TEXTS)
def test_texts_come_back_from_the_last_to_the_first(texts: list[tuple[bytes, int]]) -> None:
    """Each is put before as many of the last ones as it says."""
    expected: list[bytes] = []
    with ReverseSpool() as held:
        for number, (text, back) in enumerate(texts):
            before = min(back, number)
            held.add([text[:7], text[7:]], number, before=before)
            expected.insert(number - before, text)
        assert read(held) == expected[::-1]


def test_a_long_text_comes_in_pieces() -> None:
    with ReverseSpool() as held:
        held.add([b"a"], 0)
        held.add([bytes(PIECE_BYTES), b"end"], 1)
        (*_, pieces), *_ = held.backwards()
        assert [len(piece) for piece in pieces] == [PIECE_BYTES, 3]
