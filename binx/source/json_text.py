"""JSON output that is safe to print on a terminal, whatever names and values it contains."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

# JSON escapes characters below 0x20; these are the other control characters, among them CSI, which begins
# terminal commands as ESC does, and those that change the text direction or the line. The expression is
# compiled (1 ms) for the first text that may contain one.
_UNSAFE = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Serialize a document; non-ASCII characters are written as they are, except control characters."""
    if indent is None:
        text = json.dumps(document, ensure_ascii=False)
    else:
        # With indent, json encodes piece by piece in Python, and dumps would hold a string for each piece.
        buffer = io.StringIO()
        buffer.writelines(json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(document))
        text = buffer.getvalue()
    return text if text.isascii() and "\x7f" not in text else re.sub(_UNSAFE, _escaped, text)


_UNSAFE_BYTES = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
_BEGINNING = re.compile(rb"(?:\xc2|\xd8|\xe2[\x80\x81]?)\Z")


def safe_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Escape the same characters as :func:`json_text` in chunks of JSON in UTF-8."""
    pending = b""
    for chunk in chunks:
        if not pending and chunk.isascii() and b"\x7f" not in chunk:
            yield chunk
            continue
        joined = pending + chunk
        cut = _BEGINNING.search(joined)
        pending = b"" if cut is None else cut[0]
        yield _UNSAFE_BYTES.sub(_escaped_bytes, joined[: len(joined) - len(pending)])
    if pending:
        yield pending


def _escaped_bytes(match: re.Match[bytes]) -> bytes:
    return f"\\u{ord(match[0].decode()):04x}".encode()


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
