"""What the command line's tests read."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Shop:
    """A chain of logs, and what is known of it."""

    folder: Path
    demo: dict[str, Any]
    files: dict[str, Any]

    @property
    def logs(self) -> list[Path]:
        return sorted(self.folder.glob("mysql-bin.0*"))

    @property
    def transactions(self) -> int:
        return sum(int(file["transactions"]) for file in self.files.values())


def _shop(folder: Path) -> Shop:
    return Shop(
        folder,
        json.loads((folder / "demo.json").read_text("utf-8")),
        json.loads((folder / "expected" / "files.json").read_text("utf-8"))["files"],
    )


@pytest.fixture(scope="session")
def shop(testdata: Path) -> Shop:
    """The shop of MySQL."""
    return _shop(testdata / "mysql-9.7" / "shop")


@pytest.fixture(scope="session")
def mariadb_shop(testdata: Path) -> Shop:
    """The shop of MariaDB."""
    return _shop(testdata / "mariadb-10.11" / "shop")
