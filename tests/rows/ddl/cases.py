"""The schema statements of cases.sql, which servers ran in this order to make the expected columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """One statement of the sequence: for which server (``*`` for both), in which sql_mode (or the own)."""

    sql: str
    server: str
    sql_mode: str

    def is_for(self, server: str) -> bool:
        return self.server in {"*", server}


def _read(text: str) -> Iterator[Case]:
    server = sql_mode = ""
    for line in text.replace("\n ", " ").splitlines():
        if line.startswith("["):
            server, _, sql_mode = line.strip("[]").partition(" ")
        elif line and not line.startswith("--"):
            yield Case(line.replace("␉", "\t").replace("␤", "\n"), server.replace("both", "*"), sql_mode)


CASES = list(_read(Path(__file__).with_suffix(".sql").read_text("utf-8")))
