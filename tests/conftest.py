"""Places that tests read from: the project's own testdata, and the corpus of foreign binary logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
TESTDATA = PROJECT / "testdata"
CORPUS = PROJECT.parent / "shared" / "corpus"


# How long an example takes says what else the machine does.
settings.register_profile("binx", deadline=None)
settings.load_profile("binx")


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The binary logs and golden files that ship with the project."""
    return TESTDATA


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Binary logs of old and odd servers; not part of the project, so its tests skip elsewhere."""
    if not (CORPUS / "catalogue.tsv").exists():
        pytest.skip(f"the corpus of foreign binary logs is not at {CORPUS}")
    return CORPUS / "files"
