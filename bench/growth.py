"""``python -m bench.growth``: whether time and memory grow with a log's size, or with its number of tables.

The logs are made by :mod:`bench.growth_logs`: the same work, from 10 MB to 4 GB, and the same number of
transactions in 10 to 10,000 tables. Printed are processor time for each MB, less what the command takes of a
log of one transaction (its start-up, told separately), and the most memory. Small logs are read again and
again, and the least counts. ``extract`` writes to /dev/null: what a disk takes for 4 GB is not the command's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from bench.growth_logs import MEGABYTE, write_log
from bench.installed import install
from bench.measure import run_task
from bench.process import Reading
from bench.tasks import BINX, PROJECT, Task

SIZES = (10, 100, 1000, 4000)
TABLES = (10, 100, 1000, 10_000)
TABLES_SIZE = 100
"""Megabytes of the logs that differ by their number of tables."""

_FEW_TABLES = 10
_MEASURED_MEGABYTES = 1000
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Point:
    """What a command took of one log.

    Attributes:
        command: its name.
        megabytes: the log's size; 0 for one of a single transaction.
        tables: how many it has.
        cpu: the least seconds of processor time.
        peak: the most bytes of memory.
    """

    command: str
    megabytes: float
    tables: int
    cpu: float
    peak: int


def growth_tasks(log: Path, gtid: str) -> list[Task]:
    """The commands on one log."""
    path = str(log)
    quiet = "--quiet"
    return [
        Task("ls", (*BINX, "ls", quiet, path)),
        Task("stats", (*BINX, "stats", quiet, path)),
        Task("verify", (*BINX, "verify", quiet, path)),
        Task("index", (*BINX, "index", quiet, "-o", "{work}/index", path)),
        Task("extract --gtid", (*BINX, "extract", quiet, "--gtid", gtid, "-o", "{work}/slice", path)),
        Task("extract", (*BINX, "extract", quiet, "-o", os.devnull, path)),
        Task("extract --format sql", (*BINX, "extract", quiet, "--format", "sql", "-o", os.devnull, path)),
        Task("to-parquet", (*BINX, "to-parquet", quiet, "--jobs", "1", "-o", "{work}/lake", path)),
    ]


def measure_log(
    folder: Path, programs: Path, size: int, tables: int, *, rounds: int, names: Sequence[str]
) -> list[Point]:
    """Make a log and run the commands on it.

    Args:
        folder: where; it is left empty.
        programs: that of ``binx``.
        size: megabytes; 0 for a single transaction.
        tables: how many.
        rounds: how often each command is run at most; fewer runs do of more than a GB in all.
        names: which commands; all where it is empty.
    """
    log = folder / "mysql-bin.000001"
    gtid = write_log(log, size * MEGABYTE, tables)
    turns = max(1, min(rounds, _MEASURED_MEGABYTES // size if size else rounds))
    run = partial(run_task, programs=programs)
    points = []
    for task in growth_tasks(log, gtid):
        if names and task.name not in names:
            continue
        readings = [_run(run, task, folder / "work") for _ in range(turns)]
        least, most = min(one.cpu for one in readings), max(one.peak for one in readings)
        megabytes = log.stat().st_size / MEGABYTE if size else 0
        points.append(Point(task.name, megabytes, tables, least, most))
        print(json.dumps(asdict(points[-1])), flush=True)
    shutil.rmtree(folder / "work", ignore_errors=True)
    log.unlink()
    return points


def _run(run: partial[Reading], task: Task, work: Path) -> Reading:
    reading = run(task, work, None)
    if reading.status:
        raise SystemExit(f"bench.growth: {task.name} failed with status {reading.status}: {reading.message}")
    return reading


def render(points: Iterable[Point]) -> str:
    """Two tables in Markdown, by size and by number of tables: a command a line, a log a column.

    A cell has milliseconds of processor time for each megabyte, less the start-up, and MiB. A log that was
    measured twice counts as measured last.
    """
    every = list(points)
    starts = {one.command: one.cpu for one in every if not one.megabytes}
    by_size = {(one.command, round(one.megabytes)): one for one in every if one.tables == _FEW_TABLES}
    by_tables = {(one.command, one.tables): one for one in every if round(one.megabytes) == TABLES_SIZE}
    return "\n\n".join(
        _table(starts, found, unit) for found, unit in ((by_size, "MB"), (by_tables, "tables")) if found
    )


def _table(starts: Mapping[str, float], found: Mapping[tuple[str, int], Point], unit: str) -> str:
    logs = sorted({log for _, log in found})
    lines = [
        f"| command | start-up, ms | {' | '.join(f'{log:,} {unit}' for log in logs)} |",
        f"|---|--:|{'--:|' * len(logs)}",
    ]
    for command, start in starts.items():
        cells = [_cell(found[command, log], start) if (command, log) in found else "" for log in logs]
        lines.append(f"| {command} | {start * 1000:.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(point: Point, start: float) -> str:
    rate = max(0.0, point.cpu - start) * 1000 / point.megabytes
    return f"{rate:.2f}, {point.peak / _MEBIBYTE:.0f}"


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each command on each log, and the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="megabytes of the logs")
    parser.add_argument("--tables", nargs="*", type=int, default=TABLES, help="numbers of tables")
    parser.add_argument("--only", nargs="*", default=[], help="which commands (all)")
    parser.add_argument("--rounds", type=int, default=9, help="how often small logs are read at most (9)")
    parser.add_argument(
        "--read", nargs="*", type=Path, default=[], help="files of lines that runs before have printed"
    )
    arguments = parser.parse_args(words)
    lines = [line for path in arguments.read for line in path.read_text("utf-8").splitlines()]
    points = [Point(**json.loads(line)) for line in lines if line.startswith("{")]
    logs = [(size, _FEW_TABLES) for size in arguments.sizes]
    logs += [(TABLES_SIZE, tables) for tables in arguments.tables if (TABLES_SIZE, tables) not in logs]
    measure = partial(measure_log, rounds=arguments.rounds, names=arguments.only)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        programs = install(folder / "installed", PROJECT / "binx")
        if not any(not one.megabytes for one in points):
            points += measure(folder, programs, 0, 1)
        for size, tables in logs:
            points += measure(folder, programs, size, tables)
    print(f"\n{render(points)}")


if __name__ == "__main__":
    main()
