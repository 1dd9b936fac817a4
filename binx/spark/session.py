"""Check the requirements of Spark on this machine and on executors, and start a session."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from binx.dataset.options import usable_processors
from binx.errors import BinxError
from binx.hidden_pandas import restore_pandas
from binx.spark.java import java_there
from binx.storage.store import open_store
from binx.version import __version__, install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PROBES_A_SLOT = 2
_RETRIES = 4
_GIGABYTE = 1 << 30
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set if ``spark-submit`` started this process and configured where and how Spark runs."""

_LOG_LINES = 15
_REASON_LINES = 3

# Java mostly moves bytes in a load: its second compiler would cost more than it saves.
_JAVA_OPTIONS = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"


SCRIPT = Path(__file__).with_name("load.py")
"""The script for ``spark-submit``."""


def check_pyspark() -> None:
    """Check that pyspark is installed."""
    if find_spec("pyspark") is None:
        raise BinxError(f"pyspark is not installed: `{sys.executable} -m {install_command('spark')}`")


def default_memory() -> str:
    """Return the memory for Spark: a third of the machine's, at least 1 and at most 8 gigabytes."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(8, installed // _GIGABYTE // 3))}g"


def local_settings(cores: int) -> dict[str, str]:
    """Return the settings of a local session."""
    return {
        "spark.driver.memory": default_memory(),
        # On few cores the parallel collector takes a fifth less CPU time than the default one.
        "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
        "spark.executor.defaultJavaOptions": _JAVA_OPTIONS,
        "spark.scheduler.mode": "FAIR",
        # Below this number of paths the driver itself lists the files, without a job.
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
    """Yield a Spark session, and stop it at the end.

    Workers run this same Python; failed tasks are retried, as on a cluster. Java's startup messages are
    hidden, and shown only if it does not start.

    Raises:
        BinxError: pyspark or Java is missing, or Spark does not start.
    """
    check_pyspark()
    restore_pandas()
    from pyspark.sql import SparkSession

    chosen: dict[str, str] = {}
    if _SUBMITTED in os.environ:
        java: AbstractContextManager[None] = nullcontext()
    else:
        java = java_there()
        cores = usable_processors()
        chosen = local_settings(cores)
        chosen |= {"spark.app.name": "binx", "spark.master": master or f"local[{cores},{_RETRIES}]"}
        chosen |= {} if memory is None else {"spark.driver.memory": memory}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder: Any = SparkSession.builder
    with java:
        with _quiet_start():
            session: SparkSession = builder.config(map={**chosen, **(settings or {})}).getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Redirect standard error to a file that Java inherits; show its end if Spark does not start."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log:
        terminal = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception as error:
            log.seek(0)
            said = log.read().decode("utf-8", "replace").splitlines()[-_LOG_LINES:]
            reason = "; ".join([*str(error).splitlines()[:_REASON_LINES], *said])
            raise BinxError(f"Spark does not start: {reason}") from error
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


@contextmanager
def spark_errors(output: str) -> Iterator[None]:
    """Turn errors of Spark, and of Python in tasks, into a one-line BinxError."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise BinxError(f"Spark failed, and nothing was changed; it said: {reason_of(error)}") from error
    except OSError as error:
        raise BinxError(f"the load stopped, and nothing was changed in {output}: {error}") from error


def reason_of(error: Exception) -> str:
    """Return the first cause of a Spark error, from Java or from Python in a task, in one line."""
    origin: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while origin is not None and origin.getCause() is not None:
        origin = origin.getCause()
    lines = (str(error) if origin is None else str(origin.toString())).strip().split("\n")
    if any("Traceback (most recent call last):" in line for line in lines):
        return [line for line in lines if line.strip() and not line.startswith(" ")][-1]
    return lines[0]


def check_executors(spark: SparkSession, paths: Sequence[str], output: str) -> None:
    """Check in tasks on all executors that binx is installed in this version, and that they see the files."""
    # If a run is killed, the next one removes its marker.
    marker = f".binx-{uuid4().hex}.tmp"
    store = open_store(output)
    store.put(marker, b"")
    try:
        # One file per folder is enough to check that the folder is visible.
        folders = {Path(path).parent: path for path in paths}
        context = spark.sparkContext
        slots = max(1, context.defaultParallelism) * _PROBES_A_SLOT
        probe = _probe([*folders.values()], output, marker)
        answers = context.parallelize(range(slots), slots).mapPartitions(probe).collect()
    finally:
        store.remove(marker)
    wrong = problems(answers)
    if wrong:
        raise BinxError(
            f"the executors are not ready: {'; '.join(wrong)}. docs/spark-cluster.md explains how to"
            " install binx on them"
        )


def problems(answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the problems that executors reported, as sentences without duplicates."""
    import pyarrow as pa

    sentences: dict[str, None] = {}
    for answer in answers:
        texts = []
        if answer["error"] is not None:
            texts.append(f"{answer['python']} cannot import binx ({answer['error']})")
        else:
            for name, expected in (("binx", __version__), ("pyarrow", pa.__version__)):
                if answer[name] != expected:
                    texts.append(f"has {name} {answer[name]}, the driver has {expected}")
            texts += [
                f"{path} does not exist; logs and output must be at the same path on all machines"
                for path in answer["unseen"]
            ]
        sentences |= dict.fromkeys(f"{answer['host']}: {text}" for text in texts)
    return list(sentences)


def _probe(paths: list[str], output: str, marker: str) -> Callable[[Iterable[int]], Iterator[dict[str, Any]]]:
    """Return the check that a task runs; it is sent as code, since binx may not be installed there."""

    def probe(_: Iterable[int]) -> Iterator[dict[str, Any]]:
        import os
        import platform
        import sys

        answer: dict[str, Any] = {"host": platform.node(), "python": sys.executable, "error": None}
        try:
            import pyarrow

            import binx
            import binx.kernels.rows.images

            answer |= {"binx": binx.__version__, "pyarrow": pyarrow.__version__}
        except ImportError as error:
            yield {**answer, "error": str(error)}
            return
        answer["unseen"] = [path for path in paths if not os.path.exists(path)]  # noqa: PTH110 - sent alone
        try:
            from binx.storage.store import open_store

            if open_store(output).read(marker) is None:
                answer["unseen"].append(output)
        except ImportError:
            # Another version of binx, which is reported.
            pass
        except binx.BinxError:
            answer["unseen"].append(output)
        yield answer

    return probe
