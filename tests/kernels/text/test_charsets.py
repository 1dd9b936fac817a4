"""The check of a column's text: what Python decodes value by value passes, and nothing else."""

from __future__ import annotations

import random
from array import array
from itertools import accumulate

import pytest

from binx.kernels.text.charsets import are_utf8

LONG = "a" * 200


def check(values: list[bytes]) -> bool:
    offsets = array("i", [0, *accumulate(len(value) for value in values)])
    return are_utf8(memoryview(offsets).cast("B"), b"".join(values), len(values))


def is_decoded(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"plain",
        "grüße".encode(),
        "€".encode(),
        "\U0001f600".encode(),
        "\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode(),
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xe2\x28\xa1",
        b"\xf0\x9f\x28\x80",
        b"\xf0\x9f\x98\x28",
    ],
    ids=repr,
)
@pytest.mark.parametrize("around", ["", "x", LONG, LONG + "é" + LONG], ids=["alone", "one", "long", "mixed"])
def test_a_value_is_text_where_python_decodes_it(value: bytes, around: str) -> None:
    assert check([around.encode() + value]) == is_decoded(value)
    assert check([value + around.encode()]) == is_decoded(value)
    assert check([around.encode(), value, b"", around.encode()]) == is_decoded(value)


@pytest.mark.parametrize("character", ["é", "€", "\U0001f600"])
def test_a_character_that_two_values_share_is_none(character: str) -> None:
    data = character.encode()
    for cut in range(1, len(data)):
        assert not check([LONG.encode() + data[:cut], data[cut:] + LONG.encode()])
        assert not check([data[:cut], b"", data[cut:]])


def test_random_bytes_pass_where_python_decodes_each_value() -> None:
    dice = random.Random(8)
    seen = set()
    for _ in range(3000):
        values = []
        for _ in range(dice.randrange(1, 4)):
            value = bytearray("".join(dice.choices("ab é€\U0001f600", k=dice.randrange(100))).encode())
            if value and dice.random() < 0.2:
                value[dice.randrange(len(value))] ^= 1 << dice.randrange(8)
            values.append(bytes(value))
        expected = all(is_decoded(value) for value in values)
        assert check(values) == expected
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("offsets", [[0], [0, 4], [-1, 2], [2, 1]], ids=repr)
def test_offsets_that_do_not_fit_the_bytes_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="column"):
        are_utf8(memoryview(array("i", offsets)).cast("B"), b"abc", 1)


def test_only_the_bytes_between_the_offsets_count() -> None:
    assert are_utf8(memoryview(array("i", [1, 3, 4])).cast("B"), b"\xffabc\xff", 2)
