"""``python -m bench.spark_load``: what a load takes beside a plain Spark job on the same files.

The data set is made once and kept. Each measurement has a Spark session of its own; what it takes is told in
seconds of wall time and of the processors (of Java and of Python's workers), both without starting the
session. The plain job takes the last image of each key by ``row_number`` and writes it, which a load does
besides writing the history, checking counts and committing. The loads follow one another: all of a table, a
million images that hit all of it, 60,000 of its newest rows, one row; the same row with ``--scd2``; many
small tables, and a few changes of each. Compare processor seconds where other programs run at the same time.

``--master 'local-cluster[2,1,2048]'`` measures a cluster of two workers with one core each. With
``--object-store`` the data sets and tables are in a store that speaks S3, in a process that is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.changes import ROWS_A_LOG, Shop, write_export
from bench.logs import CACHE
from bench.object_store import object_store, store_uri
from binx.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEW_LOGS = 2
_RECENT_IMAGES = 60_000
_SMALL_TABLES, _SMALL_ROWS, _SMALL_CHANGES = 300, 50, 10
_BASE, _NEXT, _RECENT, _ONE, _SMALL, _SMALL_NEXT = "base", "next", "recent", "one", "small", "small-next"
_PLAIN, _TABLES, _VERSIONS, _SMALL_OUT = "plain", "tables", "tables-scd2", "small-tables"
_VERSION = 2
_BUCKET = "bench"
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
    """Measure, or (with ``--one``) be one measurement; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark_load", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="row images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="how often (default: %(default)s)")
    parser.add_argument("--master", default="local[2]", help="Spark's master (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=CACHE, help="where the data set is kept")
    parser.add_argument("--object-store", action="store_true", help="load out of and into an object store")
    parser.add_argument("--place", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", nargs="+", choices=_JOBS, default=list(_JOBS), help="only these, in order")
    parser.add_argument("--one", choices=_JOBS, help=argparse.SUPPRESS)
    found = parser.parse_args(words)
    dataset = need_dataset(found.keep, found.rows)
    if found.one:
        print(json.dumps(_measure(_JOBS[found.one], found.place, found.master)))
        return 0
    try:
        with _object_store(dataset) if found.object_store else nullcontext(str(dataset)) as place:
            return _run_all(found, place)
    finally:
        for made in (_PLAIN, _TABLES, _VERSIONS, _SMALL_OUT):
            shutil.rmtree(dataset / made, ignore_errors=True)


@contextmanager
def _object_store(dataset: Path) -> Iterator[str]:
    """Start a store with the data sets in it; gives the URI of the folder that has them."""
    with object_store(partial(_contents, dataset), delay=0) as port:
        yield store_uri(port, _BUCKET)


def _contents(dataset: Path) -> dict[str, bytes]:
    files = (path for path in dataset.rglob("*") if path.is_file())
    return {f"{_BUCKET}/{path.relative_to(dataset).as_posix()}": path.read_bytes() for path in files}


def _run_all(found: argparse.Namespace, place: str) -> int:
    """Each measurement in a process of its own, in turns."""
    print(f"{place}\n{'job':<16} {'wall s':>8} {'cpu s':>8} {'load average':>14}")
    for _ in range(found.rounds):
        for name in found.jobs:
            ended = subprocess.run(
                [sys.executable, "-m", "bench.spark_load", "--one", name, "--rows", str(found.rows),
                 "--master", found.master, "--keep", str(found.keep), "--place", place],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if ended.returncode != 0:
                print(ended.stderr, file=sys.stderr)
                return 1
            one = json.loads(ended.stdout.splitlines()[-1])
            print(f"{name:<16} {one['wall']:>8.1f} {one['cpu']:>8.1f} {one['load']:>14.1f}", flush=True)
    return 0


def need_dataset(keep: Path, rows: int) -> Path:
    """The data sets, made where they are not there: so many images in ``base``, then what follows."""
    logs = max(1, rows // ROWS_A_LOG)
    folder = keep / f"changes-{logs}-v{_VERSION}"
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.making")
        shutil.rmtree(draft, ignore_errors=True)
        shop = Shop((logs + _NEW_LOGS) * ROWS_A_LOG + _RECENT_IMAGES)
        for _ in range(logs):
            shop.write_log(draft / _BASE)
        for _ in range(_NEW_LOGS):
            shop.write_log(draft / _NEXT)
        shop.write_log(draft / _RECENT, _RECENT_IMAGES, recent=True)
        shop.write_log(draft / _ONE, 1)
        small = {
            f"t{number:03}": Shop(_SMALL_ROWS + _SMALL_CHANGES, number) for number in range(_SMALL_TABLES)
        }
        first = {name: one.changes(_SMALL_ROWS) for name, one in small.items()}
        write_export(draft / _SMALL, 1, first)
        write_export(
            draft / _SMALL_NEXT, 2, {name: one.changes(_SMALL_CHANGES) for name, one in small.items()}
        )
        draft.rename(folder)
    return folder


def _measure(job: Callable[[SparkSession, str], None], place: str, master: str) -> dict[str, float]:
    own = _OWN_SETTINGS if job is _plain else {}
    with local_session(master=master, settings=own) as spark:
        gateway: Any = spark.sparkContext._gateway
        virtual_machine = gateway.proc.pid
        load, cpu, wall = os.getloadavg()[0], _seconds(virtual_machine), time.perf_counter()
        job(spark, place)
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


def _plain(spark: SparkSession, place: str) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

    dataset = Path(place)
    after = F.col("_change_type") == "update_postimage"
    newest = Window.partitionBy("id").orderBy(F.desc("_commit_version"), F.desc("_row"), F.desc(after))
    rows: Any = spark.read.parquet(str(dataset / "base" / "changes" / "bench" / "orders"))
    last = rows.withColumn("newest", F.row_number().over(newest)).where("newest = 1")
    alive = last.where(F.col("_change_type").isin("insert", "update_postimage"))
    kept = alive.select("id", "customer", "state", "amount", "changed", "note", "_commit_version")
    kept.write.mode("overwrite").option("compression", "zstd").parquet(str(dataset / _PLAIN))


def _inside(place: str, name: str) -> str:
    """The path or URI of a folder in a place."""
    head, mark, options = place.partition("?")
    return f"{head}/{name}{mark}{options}"


def _load(
    output: str, *inputs: str, fresh: bool = False, scd2: bool = False
) -> Callable[[SparkSession, str], None]:
    """A load of some of the data sets, into an output that is emptied before it where that is wanted."""

    def job(spark: SparkSession, place: str) -> None:
        from binx.lake.options import LoadOptions
        from binx.lake.place import LakeStore
        from binx.spark.load_run import load

        target = LakeStore(_inside(place, output))
        if fresh:
            target.filesystem.delete_dir_contents(target.inside(""), missing_dir_ok=True)
        given = tuple(_inside(place, name) for name in inputs)
        load(LoadOptions(given, target.uri, scd2=scd2), lambda: nullcontext(spark))

    return job


_JOBS: dict[str, Callable[[SparkSession, str], None]] = {
    "plain": _plain,
    "full": _load(_TABLES, _BASE, fresh=True),
    "incremental": _load(_TABLES, _BASE, _NEXT),
    "recent": _load(_TABLES, _BASE, _NEXT, _RECENT),
    "one-row": _load(_TABLES, _BASE, _NEXT, _RECENT, _ONE),
    "full-scd2": _load(_VERSIONS, _BASE, _NEXT, _RECENT, fresh=True, scd2=True),
    "one-row-scd2": _load(_VERSIONS, _BASE, _NEXT, _RECENT, _ONE, scd2=True),
    "tables": _load(_SMALL_OUT, _SMALL, fresh=True),
    "tables-next": _load(_SMALL_OUT, _SMALL, _SMALL_NEXT),
}
"""What is measured, in the order in which one load follows the other."""


if __name__ == "__main__":
    sys.exit(main())
