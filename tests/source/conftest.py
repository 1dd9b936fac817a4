"""Keys that several pages of tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.ages import forget_keys, make_key


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_keys(monkeypatch)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path)[0]
