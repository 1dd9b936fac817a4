"""Where tests run, and what they read from: the project's own testdata, a corpus of foreign binary logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
TESTDATA = PROJECT / "testdata"
CORPUS = Path(os.environ.get("BINX_CORPUS") or PROJECT.parent / "shared" / "corpus")
"""Where the corpus is, which is no part of the project; BINX_CORPUS names another place."""

# How long an example takes says what else the machine does.
settings.register_profile("binx", deadline=None)
settings.load_profile("binx")

TOGETHER = ("tests/spark/", "tests/live/")
"""Folders whose tests share something large: a Spark session, servers."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than there are processors: tests with servers and with Spark wait for these."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several processes, keep those of a file, or of such a folder, in one of them."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            folders = (folder for folder in TOGETHER if nodeid.startswith(folder))
            return next(folders, super()._split_scope(nodeid))

    return Scheduling(config, log)


BYTES_IN_A_NAME = 16
"""How many bytes of a parameter say more than its number does."""


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name long bytes by their parameter: nobody reads them, and what a library made of them may vary by run.

    Processes that share the tests refuse to begin where one names a test otherwise than another.
    """
    return argname if isinstance(val, bytes) and len(val) > BYTES_IN_A_NAME else None


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The binary logs and golden files that ship with the project."""
    return TESTDATA


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Binary logs of old and odd servers; not part of the project, so its tests skip elsewhere."""
    if not (CORPUS / "catalogue.tsv").exists():
        pytest.skip(f"the corpus of foreign binary logs is not at {CORPUS}; BINX_CORPUS names its folder")
    return CORPUS / "files"
