"""Texts that some collation of a server takes for equal.

Servers compare keys by their columns' collations: without regard to case, marks, trailing spaces. Which of
these count, the collation tells, and that is often the server's default, which no log names. So texts are
folded more coarsely than collations do it: what one of them takes for equal has the same fold.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_BYTES = re.compile("nopad_bin$|0900_bin$|^binary$")
_ALIKE = str.maketrans("ijyvw", "uuuuu", "e")
"""Letters that some languages take for one: i, j and y, u, v and w, ü and y, ä and ae."""

_VARIANT = re.compile(
    r"\b(?:SMALL|CAPITAL|FINAL|DOTLESS|TURNED|REVERSED|OPEN|LONG|SHARP|AFRICAN|INSULAR|TALL|VOLAPUK) "
    r"| (?:WITH|SIGN)\b.*"
)
_LATIN = re.compile(r"LATIN (?:LETTER )+([A-Z]{1,2})(?: DIGRAPH)?$")
_LATIN_NAMED = {
    "LATIN LETTER ETH": "d",
    "LATIN LETTER THORN": "th",
    "LATIN LETTER ENG": "n",
    "LATIN LIGATURE OE": "oe",
}
_REPEATED = re.compile(r"([^\W\d_])\1+")

_ASCII_ALIKE = str.maketrans("jyv", "iiu")
_OF_THESE = re.compile("roman|lithuanian|latvian|_l[atv]_|macce")
"""Collations to which letters of ASCII are one: i and j, i and y, u and v."""


def may_be_equal(one: str, other: str, collation: str | None) -> bool:
    """Whether a collation may take texts for equal that have one fold.

    Most keys are ASCII, of which all collations but a few leave out nothing but case.
    """
    if not (one + other).isascii() or (collation is not None and _OF_THESE.search(collation)):
        return True
    texts = ["".join(filter(str.isprintable, text)).casefold().rstrip(" ") for text in (one, other)]
    if collation is None:
        texts = [text.translate(_ASCII_ALIKE) for text in texts]
    return texts[0] == texts[1]


def fold(text: str, collation: str | None) -> str:
    """What texts have in common that a collation may take for equal.

    Args:
        text: the text.
        collation: its column's collation; None where it is the character set's default, or not known.
    """
    if collation is not None and _BYTES.search(collation):
        return text
    if collation is not None and collation.endswith("_bin"):
        return text.rstrip(" ")
    if not text.isascii():
        # The mark below Greek letters is a letter of its own if case is folded first.
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(part for part in parts if unicodedata.category(part)[0] != "M").casefold()
        text = "".join(map(_without_variant, unicodedata.normalize("NFKD", text)))
    elif not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return _REPEATED.sub(r"\1", text.casefold().translate(_ALIKE).rstrip(" "))


@cache
def _without_variant(character: str) -> str:
    """What stands for a character and its variants, as its Unicode name tells; of controls nothing stays."""
    if character in "·\u0640" or unicodedata.category(character) in {"Mn", "Cc", "Cf"}:
        return ""
    if character.isascii():
        return character
    number = unicodedata.decimal(character, None)
    if number is not None:
        return str(number)
    name = _VARIANT.sub("", unicodedata.name(character, "")).replace("HIRAGANA", "KATAKANA")
    latin = _LATIN.match(name)
    if latin is not None:
        return latin[1]
    if name in _LATIN_NAMED:
        return _LATIN_NAMED[name]
    # Collations of the Unicode of their time know no characters beyond these, and take them for one.
    if character > "\uffff":
        return "\ufffd"
    return character if name.startswith("CJK") else name or character
