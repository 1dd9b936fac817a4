"""A Spark session on this machine, for ``binx load``: what it needs is checked, then it is set up."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from binx.dataset.options import usable_processors
from binx.errors import BinxError, UsageError
from binx.source.remote import is_uri
from binx.spark.java import java_home
from binx.storage.store import open_store

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from binx.spark.lake.run import LoadOptions
    from binx.spark.lake.summary import Summary

_RETRIES = 4
_GIGABYTE = 1 << 30
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where ``spark-submit`` started this process, and has said where and how Spark runs."""

_LOG_LINES = 15

# What Java does in a load is to move bytes: its second compiler would cost more than it saves.
_JAVA_OPTIONS = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"


class _Stoppable(Protocol):
    def stop(self) -> None: ...


_Spark = TypeVar("_Spark", bound=_Stoppable)

SCRIPTS = ("load",)
"""The names of the scripts that ``spark-submit`` takes."""


def script_path(name: str = "load") -> Path:
    """The script of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in SCRIPTS:
        raise UsageError(f"expected the name of a script ({', '.join(SCRIPTS)}), found {name!r}")
    return Path(__file__).with_name(f"{name}.py")


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
    """The settings of a local session."""
    return {
        "spark.driver.memory": default_memory(),
        # On few cores the parallel collector takes a fifth less of the processor than the default one.
        "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
        "spark.scheduler.mode": "FAIR",
        # Below so many paths the driver itself looks which files are there, without a job.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
    }


@contextmanager
def local_session(
    *,
    master: str | None = None,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session that is stopped at the end.

    Workers run this very Python; failed tasks are tried again, as on a cluster. What Java says while it
    starts is kept from the terminal, and shown if it does not start.

    Raises:
        BinxError: pyspark or Java is missing, or Spark does not start.
    """
    check_pyspark()
    from pyspark.sql import SparkSession

    def start(chosen: Mapping[str, str]) -> SparkSession:
        builder: Any = SparkSession.builder
        for name, value in chosen.items():
            builder = builder.config(name, value)
        session: SparkSession = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return session

    with _started(start, _chosen_settings(master, memory, settings)) as session:
        yield session


@contextmanager
def local_context(
    *, master: str | None = None, memory: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkContext]:
    """A context of Spark without a session, for tasks of Python alone: it starts in less than two thirds.

    Raises:
        BinxError: as :func:`local_session`.
    """
    check_pyspark()
    from pyspark import SparkConf, SparkContext

    def start(chosen: Mapping[str, str]) -> SparkContext:
        context = SparkContext(conf=SparkConf().setAll(list(chosen.items())))
        context.setLogLevel("ERROR")
        return context

    with _started(start, _chosen_settings(master, memory, settings)) as context:
        yield context


def _chosen_settings(
    master: str | None, memory: str | None, settings: Mapping[str, str] | None
) -> dict[str, str]:
    if _SUBMITTED in os.environ:
        return dict(settings or {})
    cores = usable_processors()
    chosen = local_settings(cores)
    chosen |= {"spark.app.name": "binx", "spark.master": master or f"local[{cores},{_RETRIES}]"}
    if memory is not None:
        chosen["spark.driver.memory"] = memory
    return {**chosen, **(settings or {})}


@contextmanager
def _started(start: Callable[[Mapping[str, str]], _Spark], chosen: Mapping[str, str]) -> Iterator[_Spark]:
    """What ``start`` gives, until the end."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with java_home() as home:
        with _quiet_start(home):
            spark = start(chosen)
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _quiet_start(home: Path | None) -> Iterator[None]:
    """Let Java inherit a file as its standard error; show its end where Spark does not start."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log, _variable("JAVA_HOME", home):
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


@contextmanager
def _variable(name: str, value: Path | None) -> Iterator[None]:
    """Set a variable of the environment for a while, unless the value is None."""
    former = os.environ.get(name)
    if value is not None:
        os.environ[name] = str(value)
    try:
        yield
    finally:
        if value is not None:
            os.environ.pop(name)
            if former is not None:
                os.environ[name] = former


def run_load(
    options: LoadOptions,
    *,
    master: str | None = None,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> Summary:
    """Load data sets: what ``binx load`` does, on this machine, on a cluster, or started by ``spark-submit``.

    Spark is started once something is found to do, and what is wrong with a data set before that.

    Raises:
        BinxError: Spark cannot be started, executors lack something, or nothing was loaded, and why.
    """
    from binx.spark.lake.run import load

    @contextmanager
    def session() -> Iterator[SparkSession]:
        with local_session(master=master, memory=memory, settings=settings) as spark:
            if not str(spark.sparkContext.master).startswith("local"):
                _check_cluster(spark, options)
            yield spark

    return load(options, session, progress)


def _check_cluster(spark: SparkSession, options: LoadOptions) -> None:
    from binx.spark.executors import check_executors

    folders = [f"{Path(path).absolute()}/_manifest" for path in options.inputs if not is_uri(path)]
    output = options.output if is_uri(options.output) else str(Path(options.output).absolute())
    check_executors(spark.sparkContext, folders, open_store(output), output)
