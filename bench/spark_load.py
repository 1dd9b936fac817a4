"""``python -m bench.spark_load``: what a load takes beside a plain Spark job on the same files.

The data set is made once and kept. Each measurement has a Spark session of its own; what it takes is told in
seconds of wall time and of the processors (of Java and of Python's workers), both without starting the
session. The plain job takes the last image of each key by ``row_number`` and writes it, which a load does
besides writing the history, checking counts and committing. Compare processor seconds where other programs
run at the same time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.changes import ROWS_A_LOG, Shop
from bench.logs import CACHE
from binx.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEW_LOGS = 2
_PLAIN, _TABLES = "plain", "tables"
_VERSION = 1
_OWN_SETTINGS = {
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""Those with which Spark itself is fastest."""
_TICKS = os.sysconf("SC_CLK_TCK")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, or (with ``--one``) be one measurement; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark_load", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="row images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="how often (default: %(default)s)")
    parser.add_argument("--master", default="local[2]", help="Spark's master (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=CACHE, help="where the data set is kept")
    parser.add_argument("--one", choices=sorted(_JOBS), help=argparse.SUPPRESS)
    found = parser.parse_args(words)
    dataset = need_dataset(found.keep, found.rows)
    if found.one:
        print(json.dumps(_measure(_JOBS[found.one], dataset, found.master)))
        return 0
    try:
        return _run_all(found, dataset)
    finally:
        for made in (_PLAIN, _TABLES):
            shutil.rmtree(dataset / made, ignore_errors=True)


def _run_all(found: argparse.Namespace, dataset: Path) -> int:
    """Each measurement in a process of its own, in turns."""
    print(f"{dataset}\n{'job':<12} {'wall s':>8} {'cpu s':>8} {'load average':>14}")
    for _ in range(found.rounds):
        for name in ("plain", "full", "incremental"):
            ended = subprocess.run(
                [sys.executable, "-m", "bench.spark_load", "--one", name, "--rows", str(found.rows),
                 "--master", found.master, "--keep", str(found.keep)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if ended.returncode != 0:
                print(ended.stderr, file=sys.stderr)
                return 1
            one = json.loads(ended.stdout.splitlines()[-1])
            print(f"{name:<12} {one['wall']:>8.1f} {one['cpu']:>8.1f} {one['load']:>14.1f}", flush=True)
    return 0


def need_dataset(keep: Path, rows: int) -> Path:
    """The data set of so many images, made where it is not there: ``base``, and two more logs in ``next``."""
    logs = max(1, rows // ROWS_A_LOG)
    folder = keep / f"changes-{logs}-v{_VERSION}"
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.making")
        shutil.rmtree(draft, ignore_errors=True)
        shop = Shop((logs + _NEW_LOGS) * ROWS_A_LOG)
        for _ in range(logs):
            shop.write_log(draft / "base")
        for _ in range(_NEW_LOGS):
            shop.write_log(draft / "next")
        draft.rename(folder)
    return folder


def _measure(job: Callable[[SparkSession, Path], None], dataset: Path, master: str) -> dict[str, float]:
    own = _OWN_SETTINGS if job is _plain else {}
    with local_session(master=master, settings=own) as spark:
        gateway: Any = spark.sparkContext._gateway
        virtual_machine = gateway.proc.pid
        load, cpu, wall = os.getloadavg()[0], _seconds(virtual_machine), time.perf_counter()
        job(spark, dataset)
        return {
            "wall": time.perf_counter() - wall,
            "cpu": _seconds(virtual_machine) - cpu,
            "load": load,
        }


def _seconds(process: int) -> float:
    """Seconds of processor time that a process and those that it started have taken."""
    ticks: dict[int, int] = {}
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = folder.joinpath("stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(folder.name)
        parents[number] = int(fields[1])
        # Its own, and those of its children that have ended.
        ticks[number] = sum(map(int, fields[11:15]))
    family = {process}
    while more := {one for one, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(ticks[one] for one in family) / _TICKS


def _plain(spark: SparkSession, dataset: Path) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

    after = F.col("_change_type") == "update_postimage"
    newest = Window.partitionBy("id").orderBy(F.desc("_commit_version"), F.desc("_row"), F.desc(after))
    rows: Any = spark.read.parquet(str(dataset / "base" / "changes" / "bench" / "orders"))
    last = rows.withColumn("newest", F.row_number().over(newest)).where("newest = 1")
    alive = last.where(F.col("_change_type").isin("insert", "update_postimage"))
    kept = alive.select("id", "customer", "state", "amount", "changed", "note", "_commit_version")
    kept.write.mode("overwrite").option("compression", "zstd").parquet(str(dataset / _PLAIN))


def _load(spark: SparkSession, dataset: Path, *inputs: str) -> None:
    from binx.spark.lake.run import LoadOptions, load

    given = tuple(str(dataset / name) for name in inputs)
    load(LoadOptions(given, str(dataset / _TABLES)), lambda: nullcontext(spark))


def _full(spark: SparkSession, dataset: Path) -> None:
    shutil.rmtree(dataset / _TABLES, ignore_errors=True)
    _load(spark, dataset, "base")


def _incremental(spark: SparkSession, dataset: Path) -> None:
    _load(spark, dataset, "base", "next")


_JOBS = {"plain": _plain, "full": _full, "incremental": _incremental}


if __name__ == "__main__":
    sys.exit(main())
