"""Bech32: what is written reads as it was, and a wrong letter is met."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.source import bech32

NAMES = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=20)


@given(NAMES, st.binary(max_size=80))
def test_what_is_written_reads_as_it_was_in_either_case(name: str, data: bytes) -> None:
    text = bech32.encode(name, data)
    assert bech32.decode(text) == (name, data)
    assert bech32.decode(text.upper()) == (name, data)


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("A12UEL5L", "a", 0),
        (
            "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
            None,
            0,
        ),
        (
            "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
            "1",
            51,
        ),
        ("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "split", 30),
        ("age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj", "age", 32),
        (
            "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
            "age-secret-key-",
            32,
        ),
    ],
)
def test_examples_of_bip_173_and_of_age(text: str, name: str | None, size: int) -> None:
    found, data = bech32.decode(text)
    assert found == (text.lower().rpartition("1")[0] if name is None else name)
    assert len(data) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "a",
        "1qzzfhee",
        "A1G7SGD8",
        "10a06t8",
        "li1dgmt3",
        "de1lg7wt\xff",
        "x1b4n0q5v",
        "Ab1cdefgh",
        "a" * 5000,
    ],
)
def test_what_is_no_such_text_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="it"):
        bech32.decode(text)


def test_each_changed_and_each_missing_letter_is_met() -> None:
    text = bech32.encode("age", bytes(range(32)))
    for at in range(len(text)):
        with pytest.raises(ValueError, match="it"):
            bech32.decode(text[:at] + ("q" if text[at] != "q" else "p") + text[at + 1 :])
        with pytest.raises(ValueError, match="it"):
            bech32.decode(text[:at] + text[at + 1 :])


def test_bits_that_are_left_over_are_met() -> None:
    """Five letters hold 25 bits, three bytes 24: the last bit means nothing, and has to be zero."""
    values = [0, 0, 0, 0, 1]
    checked = [*bech32._expanded("x"), *values]
    remainder = bech32._polymod([*checked, *[0] * 6]) ^ 1
    letters = [*values, *(remainder >> 5 * (5 - place) & 31 for place in range(6))]
    with pytest.raises(ValueError, match="left over"):
        bech32.decode("x1" + "".join(bech32._LETTERS[value] for value in letters))
