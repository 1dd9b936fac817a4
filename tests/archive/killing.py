"""Commands killed with SIGKILL, at each step on the disk or at random moments, and run again until they end.

``python -m tests.archive.killing COMMAND TIMES [SEED]`` kills ``archive``, ``to-parquet`` or ``index`` so
often at random moments, and tells what then was not as it must be: no manifest without its files, the next
run completes, and what stands there then is what an undisturbed run leaves.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.archive.places import SHOP, check_manifests, contents
from tests.cli.process import BINX, after, environment

STEPS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
"""Audit events of what changes a folder."""


class Victim(NamedTuple):
    """A command that is killed.

    Attributes:
        arguments: of the command, given the folder of logs and the place that it writes to.
        check: holds the place against what must be true of it at any moment.
    """

    arguments: Callable[[Path, Path], list[str]]
    check: Callable[[Path], None]


def _check_archive(place: Path) -> None:
    check_manifests(place / "archive")
    check_manifests_of_tables(place / "lake")


def check_manifests_of_tables(place: Path) -> None:
    """No manifest of a data set without its files."""
    for path in place.glob("_manifest/*.json"):
        for one in json.loads(path.read_bytes())["files"]:
            found = hashlib.sha256((place / one["path"]).read_bytes()).hexdigest()
            # Records of schemas are shared by sources, and listed without a hash.
            assert one.get("sha256") in (found, None)


def _check_indexes(place: Path) -> None:
    """An index file is there whole or not at all."""
    logs = sorted(map(str, SHOP.glob("mysql-bin.0*")))
    if any(place.glob("*.binx")):
        done = subprocess.run(
            [*BINX, "index", "--check", "-o", str(place), *logs],
            capture_output=True,
            env=environment(),
            check=False,
        )
        assert b"damaged" not in done.stdout
        assert b"stale" not in done.stdout


VICTIMS = {
    "archive": Victim(
        lambda logs, place: [
            *("archive", str(logs), "--to", str(place / "archive"), "--parquet", str(place / "lake")),
        ],
        _check_archive,
    ),
    "to-parquet": Victim(
        lambda logs, place: ["to-parquet", str(logs), "-o", str(place)], check_manifests_of_tables
    ),
    "index": Victim(lambda logs, place: ["index", str(logs), "-o", str(place)], _check_indexes),
}


def killed_at(step: int, place: Path, arguments: list[str]) -> int:
    """Run a command that is killed before a step on the disk below a place; gives its exit code."""
    code = f"""
left = {step}
def watch(event, arguments):
    global left
    if event in {STEPS!r} and str(arguments[0]).startswith({str(place)!r}):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
"""
    done = subprocess.run([*after(code), *arguments], capture_output=True, env=environment(), check=False)
    return done.returncode


def finish(place: Path, arguments: list[str]) -> None:
    """Run a command to its end."""
    done = subprocess.run([*BINX, *arguments], capture_output=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not list(place.rglob(".binx-*.tmp"))


def _compare(place: Path, expected: Path) -> None:
    """Two places hold the same; what differs is named."""
    found, wanted = contents(place), contents(expected)
    different = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
    assert not different, f"these differ: {', '.join(different)}"


def kill_at_random(name: str, times: int, seed: int) -> int:
    """Kill a command so often; gives how many runs were killed before they had ended."""
    victim, moments = VICTIMS[name], random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        expected, place = Path(folder, "expected"), Path(folder, "place")
        begun = monotonic()
        expected.mkdir()
        finish(expected, victim.arguments(SHOP, expected))
        lasts = monotonic() - begun
        killed = 0
        while killed < times:
            place.mkdir(exist_ok=True)
            process = subprocess.Popen(
                [*BINX, *victim.arguments(SHOP, place)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            try:
                process.wait(moments.uniform(0, lasts * 1.1))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += process.wait() == -signal.SIGKILL
                victim.check(place)
            else:
                assert process.returncode == 0
                finish(place, victim.arguments(SHOP, place))
                _compare(place, expected)
                shutil.rmtree(place)
        place.mkdir(exist_ok=True)
        finish(place, victim.arguments(SHOP, place))
        _compare(place, expected)
    return killed


if __name__ == "__main__":
    command, count = sys.argv[1], int(sys.argv[2])
    begun_with = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"{command}: seed {begun_with}", flush=True)
    print(f"{command}: {kill_at_random(command, count, begun_with)} runs killed, nothing lost")
