"""A Spark session on this machine, for ``binx load``: what it needs is checked, then it is set up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binx.errors import BinxError
from binx.spark.loading.arguments import parse_arguments
from binx.spark.loading.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST_JAVA = 17
_RETRIES = 4
_GIGABYTE = 1 << 30
_JAVA_ADVICE = (
    f"install Java {_OLDEST_JAVA} or newer (Debian, Ubuntu: `apt install openjdk-17-jre-headless`; "
    "Fedora, RHEL: `dnf install java-17-openjdk-headless`; macOS: `brew install openjdk@17`) "
    "or let JAVA_HOME name one"
)
_LOG_LINES = 15


def script_path() -> Path:
    """The script that ``spark-submit`` takes."""
    return Path(__file__).with_name("load.py")


def check_java() -> str:
    """The Java that Spark will start.

    Raises:
        BinxError: there is none, or it is too old for Spark.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        place = f"JAVA_HOME={home} has no bin/java" if home else "no java is on PATH"
        raise BinxError(f"Spark needs Java, and {place}: {_JAVA_ADVICE}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr)
    if answer.returncode != 0 or found is None:
        raise BinxError(f"{java} does not run ({answer.stderr.strip() or 'no answer'}): {_JAVA_ADVICE}")
    version = int(found[2] or 1) if found[1] == "1" else int(found[1])
    if version < _OLDEST_JAVA:
        raise BinxError(f"Spark needs Java {_OLDEST_JAVA} or newer, and {java} is {version}: {_JAVA_ADVICE}")
    return java


def check_pyspark() -> None:
    """Whether pyspark is installed.

    Raises:
        BinxError: it is not.
    """
    if find_spec("pyspark") is None:
        raise BinxError(f"pyspark is not installed: `{sys.executable} -m pip install 'binx[spark]'`")


def default_memory() -> str:
    """The memory that Spark gets: a third of the machine's, at least 1 and at most 8 gigabytes."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(8, installed // _GIGABYTE // 3))}g"


def local_settings(cores: int) -> dict[str, str]:
    """The settings of a local session with so many cores."""
    return {
        "spark.driver.memory": default_memory(),
        "spark.sql.shuffle.partitions": str(max(8, 4 * cores)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
    }


@contextmanager
def local_session(
    *, master: str | None = None, memory: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A Spark session that is stopped at the end.

    Workers run this very Python; failed tasks are tried again, as on a cluster. What Java says while it
    starts is kept from the terminal, and shown if it does not start.

    Args:
        master: Spark's master; by default all cores of this machine.
        memory: the driver's memory in Spark's notation, as ``4g``.
        settings: further settings of Spark, which override those made here.

    Raises:
        BinxError: pyspark or Java is missing, or Spark does not start.
    """
    check_pyspark()
    check_java()
    from pyspark.sql import SparkSession

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = local_settings(cores)
    if memory is not None:
        chosen["spark.driver.memory"] = memory
    chosen.update(settings or {})
    builder: Any = SparkSession.builder
    builder = builder.appName("binx").master(master or f"local[{cores},{_RETRIES}]")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with _quiet_start():
        session: SparkSession = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Let Java inherit a file as its standard error; show its end where Spark does not start.

    Raises:
        BinxError: Spark does not start.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log:
        terminal = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception as error:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").splitlines()[-_LOG_LINES:]
            said = "\n".join(lines) or str(error)
            raise BinxError(f"Spark does not start; it said:\n{said}") from error
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def run_load(
    arguments: Sequence[str],
    *,
    master: str | None = None,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> int:
    """Load a data set in a session on this machine: what ``binx load`` does.

    Args:
        arguments: the options of the script, as ``["--input", "DIR", "--output", "OUT"]``.
        master: Spark's master; by default all cores of this machine.
        memory: the driver's memory in Spark's notation.
        settings: further settings of Spark.
        progress: called with the steps done, all steps, and what is being done.

    Returns:
        The exit code; what went wrong in the load has been printed.

    Raises:
        BinxError: Spark cannot be started.
    """
    options = parse_arguments(arguments)
    with local_session(master=master, memory=memory, settings=settings) as spark:
        return run(spark, options, progress)
