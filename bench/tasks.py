"""The tasks that are measured: each a command, and what it is compared with."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.logs import Log
from bench.recipe import COMPRESSED
from bench.recipes import RECIPES
from testdata.programs import Programs
from testdata.servers import MySQLServer

PROJECT = Path(__file__).resolve().parent.parent
SMALL_LOG = PROJECT / "testdata" / "mysql-9.7" / "shop" / "mysql-bin.000001"
START = "start"
"""The name of the tasks that read no log made for them."""

CAT, COPY = "cat", "cat to a file"
READER_GTID, READER_ROWS, READER_CHECKSUMS = "reader, one GTID", "reader, rows as text", "reader, checksums"
PYTHON, VERSION, HELP, SMALL_LS = "python -c pass", "--version", "--help", "ls of a small log"
EXTRACT_GTID, INDEX, EXTRACT_INDEXED = "extract --gtid", "index", "extract --gtid, indexed"
EXTRACT_ALL, EXTRACT_VERBATIM, EXTRACT_SQL = "extract", "extract --verbatim", "extract --format sql"
LS, STATS_QUICK, STATS, STATS_BARE, VERIFY = (
    "ls",
    "stats --quick",
    "stats",
    "stats --no-checksums",
    "verify",
)
TO_PARQUET, TO_PARQUET_JOBS, PYARROW = (
    "to-parquet --jobs 1",
    "to-parquet --jobs 2",
    "pyarrow, the same tables",
)
TWO_LOGS, TWO_LOGS_JOBS = "to-parquet of two logs, --jobs 1", "to-parquet of two logs, --jobs 4"
TWO_AT_ONCE = "two of to-parquet --jobs 1 at once"


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to measure.

    Attributes:
        name: what it is called in the tables.
        command: the program and its arguments; ``{work}`` stands for a folder that is emptied before,
            ``{needed}`` for that of the task that is needed, ``{programs}`` for that of ``binx`` and
            ``python``.
        output: the file in that folder that takes its standard output; None to throw that away.
        against: the tasks that it is compared with by processor time.
        wall_against: the tasks that it is compared with by wall time.
        link: the log that gets a second name in the folder, so that what is written beside it lands there.
        names: the names that it gets there; its own where there is none.
        needs: the task whose folder it reads, and that must have been run before.
        tells_time: whether it prints its own times as JSON, which count instead of the process's.
        start: the same on a small log, which is what starting up takes.
    """

    name: str
    command: tuple[str, ...]
    output: str | None = None
    against: tuple[str, ...] = ()
    wall_against: tuple[str, ...] = ()
    link: Path | None = None
    names: tuple[str, ...] = ()
    needs: str | None = None
    tells_time: bool = False
    start: Task | None = None


BINX = ("{programs}/binx",)
PYTHON_PROGRAM = "{programs}/python"


def start_tasks() -> list[Task]:
    """Tasks that measure how long starting up takes."""
    return [
        Task(PYTHON, (PYTHON_PROGRAM, "-c", "pass")),
        Task(VERSION, (*BINX, "--version"), against=(PYTHON,)),
        Task(HELP, (*BINX, "--help"), against=(PYTHON,)),
        Task(SMALL_LS, (*BINX, "ls", str(SMALL_LOG)), against=(PYTHON,)),
    ]


def log_tasks(log: Log, programs: Programs) -> list[Task]:
    """Tasks on one log.

    Args:
        log: the log.
        programs: the installation whose reader of binary logs is compared with.
    """
    path = str(log.path)
    return [
        Task(CAT, ("cat", path)),
        Task(COPY, ("cat", path), output="copy"),
        *_reader_tasks(log, programs),
        *(
            replace(task, start=None if task.needs else on_small)
            for task, on_small in zip(_binx_tasks(log), _binx_tasks(_small_log(log.kind)), strict=True)
        ),
        Task(TWO_AT_ONCE, _two_at_once(path), wall_against=(TO_PARQUET,)),
        Task(
            PYARROW,
            (sys.executable, "-m", "bench.pyarrow_writer", "{needed}", "{work}"),
            needs=TO_PARQUET,
            tells_time=True,
        ),
    ]


def _binx_tasks(log: Log) -> list[Task]:
    path = str(log.path)
    return [
        Task(EXTRACT_GTID, _extract(log, "--gtid", log.gtid), against=(READER_GTID, CAT)),
        Task(INDEX, (*BINX, "index", "--quiet", f"{{work}}/{log.path.name}"), against=(CAT,), link=log.path),
        Task(
            EXTRACT_INDEXED,
            (*_extract(log, "--gtid", log.gtid)[:-1], f"{{needed}}/{log.path.name}"),
            against=(READER_GTID, EXTRACT_GTID),
            needs=INDEX,
        ),
        Task(EXTRACT_ALL, _extract(log), against=(COPY,)),
        Task(EXTRACT_VERBATIM, _extract(log, "--verbatim"), against=(COPY,)),
        Task(LS, (*BINX, "ls", "--quiet", path), against=(CAT,)),
        Task(STATS_QUICK, (*BINX, "stats", "--quiet", "--quick", path), against=(CAT,)),
        Task(STATS, (*BINX, "stats", "--quiet", path), against=(READER_CHECKSUMS, CAT)),
        Task(STATS_BARE, (*BINX, "stats", "--quiet", "--no-checksums", path), against=(CAT,)),
        Task(VERIFY, (*BINX, "verify", "--quiet", path), against=(READER_CHECKSUMS, CAT)),
        Task(TO_PARQUET, _to_parquet(1, path), against=(READER_ROWS, PYARROW)),
        Task(TO_PARQUET_JOBS, _to_parquet(2, path), against=(TO_PARQUET,), wall_against=(TO_PARQUET,)),
        _two_logs(TWO_LOGS, log, 1),
        replace(_two_logs(TWO_LOGS_JOBS, log, 4), against=(TWO_LOGS,), wall_against=(TWO_LOGS,)),
        Task(EXTRACT_SQL, _extract(log, "--format", "sql"), against=(READER_ROWS,)),
    ]


def _small_log(kind: str) -> Log:
    """A log of some twenty transactions in three tables, compressed where the kind's are."""
    recipe = RECIPES[kind]
    folder, source = ("mysql-9.7", "c6cf1aac-e590-11f1-b32d-02fc00000001:")
    if not issubclass(recipe.server, MySQLServer):
        folder, source = ("mariadb-10.11", "0-10-")
    name = "compressed" if COMPRESSED in recipe.options else "row_image_noblob"
    path = PROJECT / "testdata" / folder / "small" / f"{name}.binlog"
    return Log(kind, path, path.stat().st_size, recipe.server.daemon, f"{source}8", f"{source}7")


def _extract(log: Log, *options: str) -> tuple[str, ...]:
    return (*BINX, "extract", "--quiet", *options, "-o", "{work}/slice", str(log.path))


def _to_parquet(jobs: int, *logs: str, dataset: str = "{work}") -> tuple[str, ...]:
    return (*BINX, "to-parquet", "--quiet", "--jobs", str(jobs), "-o", dataset, *logs)


def _two_at_once(log: str) -> tuple[str, ...]:
    """Twice the work by two processes that share nothing: what a second processor of the machine is worth."""
    export = '"$1" to-parquet --quiet --jobs 1 -o "$2/{}" "$3"'
    script = f"{export.format('one')} & {export.format('other')} && wait $!"
    return ("sh", "-c", script, "sh", *BINX, "{work}", log)


def _two_logs(name: str, log: Log, jobs: int) -> Task:
    """The same log twice, as two of a chain."""
    names = ("mysql-bin.000001", "mysql-bin.000002")
    command = _to_parquet(jobs, *(f"{{work}}/{one}" for one in names), dataset="{work}/dataset")
    return Task(name, command, link=log.path, names=names)


def _reader_tasks(log: Log, programs: Programs) -> list[Task]:
    """The server's own reader; MariaDB's takes a range of GTIDs for positions instead of a set."""
    server = RECIPES[log.kind].server
    reader = (*programs.command(server.binlog_reader), "--no-defaults")
    one: tuple[str, ...]
    if issubclass(server, MySQLServer):
        one = (f"--include-gtids={log.gtid}",)
    else:
        one = (f"--start-position={log.gtid_before}", f"--stop-position={log.gtid}")
    rows = "--base64-output=decode-rows"
    path = str(log.path)
    return [
        Task(READER_GTID, (*reader, *one, path), against=(CAT,)),
        Task(READER_ROWS, (*reader, "-v", rows, path), against=(CAT,)),
        Task(READER_CHECKSUMS, (*reader, rows, "--verify-binlog-checksum", path), against=(CAT,)),
    ]


def select_tasks(tasks: Iterable[Task], names: Iterable[str]) -> list[Task]:
    """The named tasks with those that they need or are compared with; all where none is named."""
    known = {task.name: task for task in tasks}
    missing = [name for name in names if name in known]
    if not missing:
        return list(known.values())
    chosen: set[str] = set()
    while missing:
        name = missing.pop()
        if name in known and name not in chosen:
            chosen.add(name)
            task = known[name]
            missing += [*task.against, *task.wall_against, *([task.needs] if task.needs else [])]
    return [task for name, task in known.items() if name in chosen]


TASK_NAMES = (
    *(PYTHON, VERSION, HELP, SMALL_LS, CAT, COPY, READER_GTID, READER_ROWS, READER_CHECKSUMS),
    *(
        EXTRACT_GTID,
        INDEX,
        EXTRACT_INDEXED,
        EXTRACT_ALL,
        EXTRACT_VERBATIM,
        LS,
        STATS_QUICK,
        STATS,
        STATS_BARE,
        VERIFY,
    ),
    *(TO_PARQUET, TO_PARQUET_JOBS, TWO_AT_ONCE, TWO_LOGS, TWO_LOGS_JOBS, PYARROW, EXTRACT_SQL),
)
"""Every task."""
