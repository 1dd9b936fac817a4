"""What was measured, as a plain table for people and as one JSON object for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.logs import Log
from bench.measure import Outcome

_MEBIBYTE = 1 << 20
_HEADINGS = (
    *("task", "CPU s", "user s", "system s", "wall s", "start-up", "peak MiB", "GB/s"),
    "CPU of others, as a multiple",
)
_WALL = "wall of "
_PACKAGES = ("binx", "pyarrow", "Cython")


@dataclass(frozen=True, slots=True)
class Measured:
    """The tasks that were run on one log.

    Attributes:
        title: what was measured with.
        log: the log; None for the tasks of starting up.
        contents: transactions, events and row changes of the log, as far as known.
        outcomes: what the tasks cost.
    """

    title: str
    log: Log | None
    contents: dict[str, int]
    outcomes: list[Outcome]


def machine_facts() -> dict[str, str]:
    """The machine and the versions of what is measured."""
    facts = {"processor": _processor(), "cores": str(len(os.sched_getaffinity(0)))}
    facts["system"] = f"{platform.system()} {platform.release()}"
    facts["Python"] = platform.python_version()
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["load before"] = f"{os.getloadavg()[0]:.2f}"
    return facts


def render(measured: Measured) -> str:
    """One table, its title on top."""
    size = measured.log.bytes if measured.log else 0
    rows = [_HEADINGS, *(_row(outcome, measured.outcomes, size) for outcome in measured.outcomes)]
    full = [row for row in rows if len(row) == len(_HEADINGS)]
    widths = [max(len(row[place]) for row in full) for place in range(len(_HEADINGS))]
    widths[0] = max(len(row[0]) for row in rows)
    lines = [measured.title]
    if measured.contents:
        lines.append(", ".join(f"{count:,} {name}" for name, count in measured.contents.items()))
    lines += [_line(row, widths) for row in rows]
    return "\n".join(lines) + "\n"


def to_json(facts: dict[str, str], measured: Sequence[Measured]) -> dict[str, Any]:
    """Every reading, with what was read."""
    return {"machine": facts, "logs": [_log_json(one) for one in measured]}


def _row(outcome: Outcome, others: Sequence[Outcome], size: int) -> tuple[str, ...]:
    if outcome.reason is not None:
        return (outcome.task.name, outcome.reason)
    size *= max(1, len(outcome.task.names))
    best, share = outcome.best, outcome.start_share
    speed = f"{size / best.cpu / 1e9:.2f}" if size and best.cpu else ""
    return (
        outcome.task.name,
        *map(_seconds, (best.cpu, best.user, best.system, outcome.wall)),
        "" if share is None else f"{share:.0%}",
        f"{outcome.peak / _MEBIBYTE:.0f}",
        speed,
        ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios(outcome, others).items()),
    )


def ratios(outcome: Outcome, others: Sequence[Outcome]) -> dict[str, float]:
    """The least CPU or wall time of each task that this one is compared with, divided by its own."""
    if outcome.reason is not None or not outcome.best.cpu:
        return {}
    known = {other.task.name: other for other in others if other.reason is None}
    task = outcome.task
    found = {name: known[name].best.cpu / outcome.best.cpu for name in task.against if name in known}
    walls = {_WALL + name: known[name].wall / outcome.wall for name in task.wall_against if name in known}
    return found | walls


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    if len(row) < len(widths):
        return f"{row[0]:<{widths[0]}}  {row[1]}"
    numbers = "  ".join(f"{text:>{width}}" for text, width in zip(row[1:-1], widths[1:-1], strict=True))
    return f"{row[0]:<{widths[0]}}  {numbers}  {row[-1]}".rstrip()


def _log_json(measured: Measured) -> dict[str, Any]:
    log = None if measured.log is None else {**asdict(measured.log), "path": str(measured.log.path)}
    return {
        "title": measured.title,
        "log": log,
        "contents": measured.contents,
        "tasks": [
            {
                "name": outcome.task.name,
                "reason": outcome.reason,
                "readings": [asdict(reading) for reading in outcome.readings],
                "starts": [asdict(reading) for reading in outcome.starts],
                "ratios": ratios(outcome, measured.outcomes),
            }
            for outcome in measured.outcomes
        ],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
