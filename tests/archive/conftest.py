"""Keys and encrypted archives that several pages of tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archive.places import SHOP, archive
from tests.source.ages import Key, forget_keys


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Key:
    """A new key, which nothing in the environment names."""
    forget_keys(monkeypatch)
    return Key(tmp_path)


@pytest.fixture
def sealed(tmp_path: Path, key: Key) -> Path:
    """An archive of the shop's logs, encrypted to that key."""
    archive(SHOP, tmp_path / "archive", recipients=(key.text,))
    return tmp_path / "archive"
