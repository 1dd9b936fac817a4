"""The lowest versions that ``pyproject.toml`` allows, as pins for pip: ``python -m tests.lowest > pins``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

_LOWEST = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")
EXTRAS = ("encryption", "pull")
"""Extras whose lowest versions are tested too."""


def pins(text: str) -> Iterator[str]:
    """``name==version`` for each dependency of the text of a ``pyproject.toml``."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    found_in = [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    for requirement in dict.fromkeys(found_in):
        found = _LOWEST.match(requirement)
        if found is None or "<" not in requirement:
            raise ValueError(f"expected a lower and an upper bound, found {requirement}")
        yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    print(*pins(Path("pyproject.toml").read_text("utf-8")), sep="\n")
