"""Bech32, in which age's keys are written: a name, data in 32 letters, and a checksum of six more.

Source: BIP 173; without its limit on length, as age has it (C2SP's ``age.md``).
"""

from __future__ import annotations

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LETTERS = 6
_PRINTABLE = range(33, 127)

LONGEST = 4096
"""Characters of a text, at most: more than the longest of age's keys has."""


def encode(name: str, data: bytes) -> str:
    """Data as text, in lower case.

    Args:
        name: what stands before the last ``1``.
        data: the bytes.
    """
    values = _regrouped(data, 8, 5, pad=True)
    remainder = _polymod([*_expanded(name), *values, *[0] * _CHECKSUM_LETTERS]) ^ 1
    checksum = [remainder >> 5 * (_CHECKSUM_LETTERS - 1 - place) & 31 for place in range(_CHECKSUM_LETTERS)]
    return f"{name}1{''.join(_LETTERS[value] for value in (*values, *checksum))}"


def decode(text: str) -> tuple[str, bytes]:
    """Name and data of a text; the name is given in lower case.

    Raises:
        ValueError: it is no such text, or its checksum is not that of its letters. What is said does not show
            the text, which may be a secret.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST} characters")
    if text not in (text.lower(), text.upper()):
        raise ValueError("it has letters of both cases")
    name, separator, letters = text.lower().rpartition("1")
    if not separator or not name or len(letters) < _CHECKSUM_LETTERS:
        raise ValueError("it is not a bech32 string")
    if not all(ord(character) in _PRINTABLE for character in name):
        raise ValueError("it has characters that are not allowed in bech32")
    if not all(letter in _VALUES for letter in letters):
        raise ValueError("it has characters that are not allowed in bech32")
    values = [_VALUES[letter] for letter in letters]
    if _polymod([*_expanded(name), *values]) != 1:
        raise ValueError("its checksum is wrong; a letter is wrong or missing")
    return name, bytes(_regrouped(values[:-_CHECKSUM_LETTERS], 5, 8, pad=False))


def _expanded(name: str) -> list[int]:
    codes = [ord(character) for character in name]
    return [*(code >> 5 for code in codes), 0, *(code & 31 for code in codes)]


def _polymod(values: list[int]) -> int:
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate(_GENERATORS):
            remainder ^= generator if top >> place & 1 else 0
    return remainder


def _regrouped(values: bytes | list[int], width: int, new_width: int, *, pad: bool) -> list[int]:
    """The same bits in groups of another width."""
    held = bits = 0
    groups = []
    for value in values:
        held = held << width | value
        bits += width
        while bits >= new_width:
            bits -= new_width
            groups.append(held >> bits)
            held &= (1 << bits) - 1
    if pad and bits:
        groups.append(held << new_width - bits)
    elif not pad and (bits >= width or held):
        raise ValueError("bits are left over at its end")
    return groups


__all__ = ["LONGEST", "decode", "encode"]
