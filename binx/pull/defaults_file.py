"""The option files of MySQL's and MariaDB's clients, as far as they tell how to connect.

Source: MySQL manual, "Using Option Files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from binx.errors import SourceError

GROUPS = ("client", "binx")
"""The groups that are read."""

SYSTEM_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
"""The files that clients read where they are told of none, later ones being stronger."""

OPTIONS = ("host", "port", "socket", "user", "password", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key")
_GROUP = re.compile(r"\[\s*([^\]]*?)\s*\]")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "s": " ", "\\": "\\", '"': '"', "'": "'"}
_DEEPEST = 10


def read_defaults(path: str | None) -> dict[str, str]:
    """The options of :data:`OPTIONS` that files give, the last one of each name.

    Args:
        path: the one file to read; None: those that all clients read, where they are there.

    Raises:
        SourceError: a file that was asked for cannot be read.
    """
    files = [Path(one).expanduser() for one in SYSTEM_FILES] if path is None else [Path(path)]
    found: dict[str, str] = {}
    for file in files:
        if path is not None or file.is_file():
            found |= {name: value for name, value in _options(file, 0) if name in OPTIONS}
    return found


def _options(path: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Names and values in the groups that count, those of included files in their place."""
    try:
        lines = path.read_text("utf-8", "surrogateescape").splitlines()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error
    group = ""
    for line in map(str.strip, lines):
        if line.startswith("!") and depth < _DEEPEST:
            directive, _, place = line.partition(" ")
            included = Path(path.parent, place.strip())
            if directive == "!include":
                yield from _options(included, depth + 1)
            elif directive == "!includedir" and included.is_dir():
                for one in sorted(included.glob("*.cnf")):
                    yield from _options(one, depth + 1)
        elif header := _GROUP.fullmatch(line):
            group = header[1]
        elif line and line[0] not in "#;" and group in GROUPS:
            name, _, value = line.partition("=")
            yield name.strip().removeprefix("loose-").replace("_", "-"), _value(value.strip())


def _value(text: str) -> str:
    """A value without its quotes or what is remarked behind it, its escapes resolved."""
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1]
    else:
        text = re.split(r"\s+#", text, maxsplit=1)[0]
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)


__all__ = ["read_defaults"]
