"""Commands killed with SIGKILL, at each step on the disk or at random moments, and run again until they end.

``python -m tests.archive.killing COMMAND TIMES [SEED]`` kills ``archive``, ``to-parquet`` or ``index`` so
often at random moments, and tells what then was not as it must be: no manifest without its files, the next
run completes, and what stands there then is what an undisturbed run leaves. ``index-beside`` writes index
files beside their logs, and ``to-parquet-jobs`` decodes two logs at a time. ``archive-encrypted`` encrypts
what it archives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.archive.places import SHOP, check_manifests, copy_logs, revealed
from tests.cli.process import BINX, binx, binx_with, environment
from tests.exports import contents
from tests.source.ages import EXAMPLE_RECIPIENT

STEPS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
"""Audit events of what changes a folder."""

NUMBERS = range(1, 6)
"""The logs of the shop."""

GONE_SECONDS = 600
"""Until when the processes of a command have to be gone that was killed."""


class Victim(NamedTuple):
    """A command that is killed."""

    arguments: Callable[[Path, Path], list[str]]
    check: Callable[[Path], None]
    has_logs: bool = False
    contents: Callable[[Path], dict[str, str]] = contents

    def make(self, dest: Path, *numbers: int) -> None:
        """Make the place as it is before the first run, with some of the logs."""
        dest.mkdir()
        if self.has_logs:
            copy_logs(dest, *numbers)


def _check_archive(dest: Path) -> None:
    check_manifests(dest / "archive")
    check_manifests_of_tables(dest / "lake")


def check_manifests_of_tables(dest: Path) -> None:
    """No manifest of a data set without its files."""
    for path in dest.glob("_manifest/*.json"):
        for file in json.loads(path.read_bytes())["files"]:
            digest = hashlib.sha256((dest / file["path"]).read_bytes()).hexdigest()
            # Records of schemas are shared by sources, and listed without a hash.
            assert file.get("sha256") in (digest, None)


def _check_indexes(dest: Path) -> None:
    """An index file is there whole or not at all."""
    logs = [path for path in dest.glob("mysql-bin.0*") if path.suffix != ".binx"]
    beside = [str(dest)] if logs else ["-o", str(dest), *map(str, SHOP.glob("mysql-bin.0*"))]
    assert all(path.read_bytes() == (SHOP / path.name).read_bytes() for path in logs)
    if any(dest.glob("*.binx")):
        output = binx("index", "--check", *beside).out
        assert "damaged" not in output
        assert "stale" not in output


VICTIMS = {
    "archive": Victim(
        lambda logs, dest: [
            *("archive", str(logs), "--to", str(dest / "archive"), "--parquet", str(dest / "lake")),
        ],
        _check_archive,
    ),
    "archive-encrypted": Victim(
        lambda logs, dest: [
            *("archive", str(logs), "--to", str(dest / "archive"), "--encrypt-to", EXAMPLE_RECIPIENT),
        ],
        _check_archive,
        contents=revealed,
    ),
    "to-parquet": Victim(
        lambda logs, dest: ["to-parquet", str(logs), "-o", str(dest)], check_manifests_of_tables
    ),
    "to-parquet-jobs": Victim(
        lambda logs, dest: ["to-parquet", "--jobs", "4", str(logs), "-o", str(dest)],
        check_manifests_of_tables,
    ),
    "index": Victim(lambda logs, dest: ["index", str(logs), "-o", str(dest)], _check_indexes),
    "index-beside": Victim(lambda _, dest: ["index", str(dest)], _check_indexes, has_logs=True),
}


def killed_at(step: int, victim: Victim, logs: Path, dest: Path) -> int:
    """Run a command that is killed before a step on the disk below a place; gives its exit code."""
    code = f"""
left = {step}
def watch(event, arguments):
    global left
    if event in {STEPS!r} and str(arguments[0]).startswith({str(dest)!r}):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
"""
    return binx_with(code, *victim.arguments(logs, dest)).code


def finish(victim: Victim, logs: Path, dest: Path) -> None:
    """Run a command to its end."""
    done = binx(*victim.arguments(logs, dest))
    assert done.code == 0, done.err
    assert not list(dest.rglob(".binx-*.tmp"))


def _compare(victim: Victim, dest: Path, expected: Path) -> None:
    """Two places hold the same; what differs is named."""
    actual, wanted = victim.contents(dest), victim.contents(expected)
    different = [name for name in sorted({*actual, *wanted}) if actual.get(name) != wanted.get(name)]
    assert not different, f"these differ: {', '.join(different)}"


def kill_at_random(name: str, times: int, seed: int) -> int:
    """Kill a command so often; gives how many runs were killed before they had ended."""
    victim, moments = VICTIMS[name], random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        expected, dest = Path(folder, "expected"), Path(folder, "place")
        victim.make(expected, *NUMBERS)
        finish(victim, SHOP, expected)

        def begin_anew() -> None:
            finish(victim, SHOP, dest)
            _compare(victim, dest, expected)
            shutil.rmtree(dest)
            victim.make(dest, *NUMBERS)

        victim.make(dest, *NUMBERS)
        begun = monotonic()
        begin_anew()
        lasts = monotonic() - begun
        killed = 0
        while killed < times:
            process = subprocess.Popen(
                [*BINX, *victim.arguments(SHOP, dest)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment(),
            )
            try:
                process.wait(moments.uniform(0, lasts * 1.1))
            except subprocess.TimeoutExpired:
                killed += _kill_one(process, moments)
                victim.check(dest)
            else:
                assert process.returncode == 0
            if process.returncode == 0:
                begin_anew()
        begin_anew()
    return killed


def _kill_one(process: subprocess.Popen[bytes], moments: random.Random) -> bool:
    """Kill a command, or one of the processes that decode for it; says whether it ended of that."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    chosen = moments.choice([process.pid, *map(int, children)])
    with suppress(ProcessLookupError):
        os.kill(chosen, signal.SIGKILL)
    # Each of its processes holds the pipe until it is gone.
    _, message = process.communicate(timeout=GONE_SECONDS)
    if process.returncode == 1:
        assert chosen != process.pid
        assert b"was ended from outside (signal 9)" in message, message.decode()
    else:
        assert process.returncode in (0, -signal.SIGKILL), message.decode()
    return process.returncode != 0


def main() -> None:
    """Kill one command, and say how often."""
    parser = argparse.ArgumentParser(prog="python -m tests.archive.killing", description=__doc__)
    parser.add_argument("command", choices=list(VICTIMS))
    parser.add_argument("times", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print(f"{arguments.command}: seed {arguments.seed}", flush=True)
    killed = kill_at_random(arguments.command, arguments.times, arguments.seed)
    print(f"{arguments.command}: {killed} runs killed, nothing lost")


if __name__ == "__main__":
    main()
