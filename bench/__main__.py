"""``python -m bench``: make the logs where they are missing, run the tasks in turns, print tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from compileall import compile_dir
from functools import partial
from pathlib import Path

from bench.arguments import Arguments, parse_arguments
from bench.installed import install
from bench.logs import Log, need_log
from bench.measure import measure, run_task
from bench.process import plain_environment
from bench.recipes import RECIPES
from bench.report import Measured, machine_facts, render, to_json
from bench.tasks import PROJECT, START, log_tasks, select_tasks, start_tasks
from testdata.programs import MissingServerError
from testdata.servers import ServerError

_CHUNK = 1 << 20


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; returns the exit code."""
    arguments = parse_arguments(words)
    # A stop by `kill` unwinds like Ctrl-C, so that no server and no scratch folder is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    compile_dir(PROJECT / "binx", quiet=2)
    facts = machine_facts()
    print("\n".join(f"{name}: {value}" for name, value in facts.items()), end="\n\n")
    try:
        logs = {
            kind: need_log(kind, arguments.size, arguments.keep) for kind in arguments.kinds if kind != START
        }
        measured = []
        for kind in arguments.kinds:
            measured.append(_measure_kind(arguments, logs.get(kind)))
            print(render(measured[-1]), flush=True)
    except (MissingServerError, ServerError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    if arguments.json is not None:
        text = json.dumps(to_json(facts, measured), indent=1) + "\n"
        arguments.json.write_text(text, "utf-8")
    return 0


def _measure_kind(arguments: Arguments, log: Log | None) -> Measured:
    """Run the tasks on one log, or for None those of starting up."""
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".running-", dir=arguments.keep) as folder:
        scratch = Path(folder) / "work"
        programs = install(Path(folder) / "installed", PROJECT / "binx")
        run = partial(run_task, programs=programs)
        if log is None:
            tasks = select_tasks(start_tasks(), arguments.tasks)
            return Measured("start: starting up", None, {}, measure(tasks, arguments.rounds, scratch, run))
        recipe = RECIPES[log.kind]
        tasks = select_tasks(log_tasks(log, recipe.server.need_programs()), arguments.tasks)
        contents = _contents(log, programs)
        _warm(log.path)
        outcomes = measure(tasks, arguments.rounds, scratch, run)
    title = f"{log.kind}: {recipe.title}, {log.bytes / 1e6:.0f} MB, {log.server}"
    return Measured(title, log, contents, outcomes)


def _contents(log: Log, programs: Path) -> dict[str, int]:
    """What is in a log, as ``binx stats`` counts it; nothing where that does not work."""
    command = [str(programs / "binx"), "stats", "--quiet", "--json", str(log.path)]
    done = subprocess.run(command, capture_output=True, cwd=PROJECT, env=plain_environment(), check=False)
    if done.returncode != 0:
        return {}
    figures = json.loads(done.stdout)
    rows = sum(table[name] for table in figures["tables"] for name in ("inserts", "updates", "deletes"))
    return {"transactions": figures["transactions"], "events": figures["events"], "row changes": rows}


def _warm(path: Path) -> None:
    """Read a file once from the disk, so that every task finds it in the page cache.

    What a server has just written lies there in pages of 4 KiB, from which a copy takes up to three times as
    long as from the larger ones that are read ahead: which it is must not depend on when the log was made.
    """
    with path.open("rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(_CHUNK):
            pass


if __name__ == "__main__":
    sys.exit(main())
