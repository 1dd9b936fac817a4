r"""Text for man(7): it is never a macro by accident.

A line that begins with a dot or an apostrophe is guarded by ``\&``, and what roff would take for its own
(backslashes, hyphens, quotes) is escaped.
"""

from __future__ import annotations

_ESCAPES = str.maketrans(
    {
        "\\": r"\e",
        "-": r"\-",
        "'": r"\(aq",
        "`": r"\(ga",
        "^": r"\(ha",
        "~": r"\(ti",
        '"': r"\(dq",
    }
)


def escaped(text: str) -> str:
    """Text as it is to be read; characters beyond ASCII by their number, as roff's input has none."""
    plain = text.translate(_ESCAPES)
    return "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in plain)


def guarded(line: str) -> str:
    """A line that is no macro."""
    return rf"\&{line}" if line.startswith((".", "'")) else line
