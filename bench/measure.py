"""Runs tasks in turns and gathers what they cost."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path

from bench.process import Reading, run_measured
from bench.tasks import BINX, PROJECT, Task

USAGE_STATUS = 2
"""What binx ends with where it does not know a command or an option."""

Runner = Callable[[Task, Path, Path | None], Reading]
"""Runs a task once in its folder, beside the folder of the task that it needs."""


@dataclass(slots=True)
class Outcome:
    """All runs of one task.

    Attributes:
        task: the task.
        readings: what each run cost; empty where the first one failed.
        starts: what each run on a small log cost.
        reason: why there are none.
    """

    task: Task
    readings: list[Reading] = field(default_factory=list)
    starts: list[Reading] = field(default_factory=list)
    reason: str | None = None

    @property
    def best(self) -> Reading:
        """The run that took the least processor time."""
        return min(self.readings, key=attrgetter("cpu"))

    @property
    def wall(self) -> float:
        """The least seconds of wall time."""
        return min(reading.wall for reading in self.readings)

    @property
    def peak(self) -> int:
        """The most bytes of memory of all runs."""
        return max(reading.peak for reading in self.readings)

    @property
    def start_share(self) -> float | None:
        """What starting up takes of the processor time; None where that was not measured."""
        if not self.starts or not self.best.cpu:
            return None
        return min(reading.cpu for reading in self.starts) / self.best.cpu


def run_task(
    task: Task, work: Path, needed: Path | None, programs: Path = Path(sys.executable).parent
) -> Reading:
    """Run a task once, in an empty folder of its own.

    Args:
        task: the task.
        work: the folder.
        needed: that of the task that it needs.
        programs: that of ``binx`` and ``python``.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if task.link is not None:
        for name in task.names or (task.link.name,):
            try:
                (work / name).hardlink_to(task.link)
            except OSError:  # The folder is on another file system.
                shutil.copyfile(task.link, work / name)
    command = [word.format(work=work, needed=needed, programs=programs) for word in task.command]
    if not task.tells_time:
        return run_measured(command, output=work / task.output if task.output else None, folder=PROJECT)
    answer = work / "times.json"
    reading = run_measured(command, output=answer, folder=PROJECT)
    if reading.status:
        return reading
    times = json.loads(answer.read_text("utf-8"))
    return replace(reading, user=times["user"], system=times["system"], wall=times["wall"])


def measure(tasks: Sequence[Task], rounds: int, scratch: Path, run: Runner = run_task) -> list[Outcome]:
    """Run each task once a round.

    Tasks take turns, so that a busy spell of the machine falls upon all of them. A task that fails is not
    tried again, and neither is what needs it.

    Args:
        tasks: the tasks; those that others need come before these.
        rounds: how often.
        scratch: a folder for what tasks write.
        run: what runs a task.
    """
    outcomes = {task.name: Outcome(task) for task in tasks}
    folders = {task.name: scratch / str(number) for number, task in enumerate(tasks)}
    for turn in range(rounds):
        for name, outcome in outcomes.items():
            needs = outcome.task.needs
            if needs is not None and outcomes[needs].reason is not None:
                outcome.reason = outcomes[needs].reason
            if outcome.reason is None:
                print(f"round {turn + 1} of {rounds}: {name}", file=sys.stderr)
                if outcome.task.start is not None:
                    outcome.starts.append(run(outcome.task.start, folders[name], None))
                reading = run(outcome.task, folders[name], folders[needs] if needs else None)
                outcome.reason = _failure(outcome.task, reading)
                outcome.readings.append(reading)
                if not any(other.task.needs == name for other in outcomes.values()):
                    shutil.rmtree(folders[name], ignore_errors=True)
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    for outcome in outcomes.values():
        if outcome.reason is not None:
            outcome.readings.clear()
    return list(outcomes.values())


def _failure(task: Task, reading: Reading) -> str | None:
    if reading.status == 0:
        return None
    if reading.status == USAGE_STATUS and task.command[: len(BINX)] == BINX:
        return "not there"
    return f"failed with status {reading.status}: {reading.message}"
