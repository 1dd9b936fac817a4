"""The command line of ``python -m bench``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.logs import CACHE
from bench.recipes import RECIPES
from bench.tasks import START, TASK_NAMES

DEFAULT_SIZE = 50
LARGEST_SIZE = 1_000
DEFAULT_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is to be measured.

    Attributes:
        size: megabytes of each log.
        rounds: how often each task is run.
        kinds: the logs to measure with, and ``start`` for starting up.
        tasks: names of the tasks to run; empty for all.
        keep: the folder that keeps the logs.
        json: where to write all readings, or None.
    """

    size: int
    rounds: int
    kinds: tuple[str, ...]
    tasks: tuple[str, ...]
    keep: Path
    json: Path | None


def parse_arguments(words: Sequence[str] | None = None) -> Arguments:
    """Take the command line apart; ends the process with status 2 where it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure binx beside mysqlbinlog, mariadb-binlog, pyarrow and cat, all in one run.",
        epilog=f"Kinds: {', '.join(_KINDS)}. Tasks: {', '.join(TASK_NAMES)}.",
    )
    parser.add_argument(
        "--size",
        type=_size,
        default=DEFAULT_SIZE,
        metavar="MB",
        help=f"megabytes of each log, up to {LARGEST_SIZE}; the log of compressed payloads is what so many"
        " compress to (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=_rounds,
        default=DEFAULT_ROUNDS,
        metavar="N",
        help="run each task so often, in turns (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="only these kinds of log, or these tasks, and what these are compared with",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        default=CACHE,
        metavar="DIR",
        help="the folder that keeps the logs for the next run (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every reading there")
    given = parser.parse_args(words)
    unknown = [name for name in given.only if name not in _KINDS and name not in TASK_NAMES]
    if unknown:
        parser.error(f"--only: neither a kind of log nor a task: {', '.join(unknown)}")
    kinds = tuple(kind for kind in _KINDS if kind in given.only)
    tasks = tuple(name for name in TASK_NAMES if name in given.only)
    return Arguments(given.size, given.rounds, kinds or _KINDS, tasks, given.keep, given.json)


_KINDS = (*RECIPES, START)


def _size(text: str) -> int:
    return _number(text, LARGEST_SIZE)


def _rounds(text: str) -> int:
    return _number(text, 100)


def _number(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {most}, found {text!r}")
    return int(text)
