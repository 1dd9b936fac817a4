"""Commands killed with SIGKILL, at each step on the disk or at random moments, and run again until they end.

``python -m tests.archive.killing COMMAND TIMES [SEED]`` kills ``archive``, ``to-parquet`` or ``index`` so
often at random moments, and tells what then was not as it must be: no manifest without its files, the next
run completes, and what stands there then is what an undisturbed run leaves. ``index-beside`` writes index
files beside their logs, and ``to-parquet-jobs`` decodes two logs at a time. ``archive-encrypted`` encrypts
what it archives. ``--s3`` lets the commands write to an object store.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.archive.places import SHOP, check_manifests, contents, copy_logs, revealed
from tests.cli.process import BINX, binx, binx_with, environment
from tests.object_store import Bucket, object_store
from tests.source.ages import EXAMPLE_RECIPIENT

STEPS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
"""Audit events of what changes a folder."""

NUMBERS = range(1, 6)
"""The logs of the shop."""

GONE_SECONDS = 20
"""Until when the processes of a command have to be gone that was killed."""


class Victim(NamedTuple):
    """A command that is killed.

    Attributes:
        arguments: of the command, given the folder of logs and the place that it writes to.
        check: holds the place against what must be true of it at any moment.
        has_logs: whether the logs are in the place, as copies.
        contents: what two places have in common that hold the same.
    """

    arguments: Callable[[Path, Path], list[str]]
    check: Callable[[Path], None]
    has_logs: bool = False
    contents: Callable[[Path], dict[str, str]] = contents

    def make(self, place: Path, *numbers: int) -> None:
        """Make the place as it is before the first run, with some of the logs."""
        place.mkdir()
        if self.has_logs:
            copy_logs(place, *numbers)


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
    logs = [path for path in place.glob("mysql-bin.0*") if path.suffix != ".binx"]
    beside = [str(place)] if logs else ["-o", str(place), *map(str, SHOP.glob("mysql-bin.0*"))]
    assert all(path.read_bytes() == (SHOP / path.name).read_bytes() for path in logs)
    if any(place.glob("*.binx")):
        said = binx("index", "--check", *beside).out
        assert "damaged" not in said
        assert "stale" not in said


VICTIMS = {
    "archive": Victim(
        lambda logs, place: [
            *("archive", str(logs), "--to", str(place / "archive"), "--parquet", str(place / "lake")),
        ],
        _check_archive,
    ),
    "archive-encrypted": Victim(
        lambda logs, place: [
            *("archive", str(logs), "--to", str(place / "archive"), "--encrypt-to", EXAMPLE_RECIPIENT),
        ],
        _check_archive,
        contents=revealed,
    ),
    "to-parquet": Victim(
        lambda logs, place: ["to-parquet", str(logs), "-o", str(place)], check_manifests_of_tables
    ),
    "to-parquet-jobs": Victim(
        lambda logs, place: ["to-parquet", "--jobs", "2", str(logs), "-o", str(place)],
        check_manifests_of_tables,
    ),
    "index": Victim(lambda logs, place: ["index", str(logs), "-o", str(place)], _check_indexes),
    "index-beside": Victim(lambda _, place: ["index", str(place)], _check_indexes, has_logs=True),
}


def killed_at(step: int, victim: Victim, logs: Path, place: Path) -> int:
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
    return binx_with(code, *victim.arguments(logs, place)).code


def finish(victim: Victim, logs: Path, place: Path) -> None:
    """Run a command to its end."""
    _finish(victim.arguments(logs, place))
    assert not list(place.rglob(".binx-*.tmp"))


def _finish(arguments: list[str]) -> None:
    done = binx(*arguments)
    assert done.code == 0, done.err


def _compare(victim: Victim, place: Path, expected: Path) -> None:
    """Two places hold the same; what differs is named."""
    found, wanted = victim.contents(place), victim.contents(expected)
    different = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
    assert not different, f"these differ: {', '.join(different)}"


class Target(NamedTuple):
    """Where the killed runs write to.

    Attributes:
        arguments: of the command that is run.
        check: holds what is there against what must be true at any moment.
        compare: holds it against what an undisturbed run leaves.
        clear: removes all that was written.
    """

    arguments: list[str]
    check: Callable[[], None]
    compare: Callable[[Path], None]
    clear: Callable[[], None]


def _in_folder(victim: Victim, place: Path) -> Target:
    def clear() -> None:
        shutil.rmtree(place, ignore_errors=True)
        victim.make(place, *NUMBERS)

    def compare(expected: Path) -> None:
        assert not list(place.rglob(".binx-*.tmp"))
        _compare(victim, place, expected)

    clear()
    return Target(victim.arguments(SHOP, place), lambda: victim.check(place), compare, clear)


@contextmanager
def _in_object_store(victim: Victim, folder: Path) -> Iterator[Target]:
    """The same in a bucket of moto's server; it is copied to a folder to be looked at."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with object_store() as service:
        bucket = Bucket(service, str(folder))

        def copied() -> Path:
            copy = folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            for key in bucket.listed("logs/"):
                path = copy / key.removeprefix("logs/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(bucket.read(key))
            return copy

        def clear() -> None:
            for key in bucket.listed("logs/"):
                bucket.client.delete_object(Bucket=bucket.name, Key=key)
            begun = folder / "begun"
            shutil.rmtree(begun, ignore_errors=True)
            victim.make(begun, *NUMBERS)
            for path in begun.iterdir():
                bucket.client.put_object(Bucket=bucket.name, Key=f"logs/{path.name}", Body=path.read_bytes())

        clear()
        paths = victim.arguments(SHOP, Path("/PLACE"))
        arguments = [
            bucket.place(f"logs{path.removeprefix('/PLACE')}" + "/" * victim.has_logs)
            if path.startswith("/PLACE")
            else path
            for path in paths
        ]
        yield Target(
            arguments,
            lambda: victim.check(copied()),
            lambda expected: _compare(victim, copied(), expected),
            clear,
        )


def kill_at_random(name: str, times: int, seed: int, *, s3: bool = False) -> int:
    """Kill a command so often; gives how many runs were killed before they had ended."""
    victim = VICTIMS[name]
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        expected = folder / "expected"
        victim.make(expected, *NUMBERS)
        finish(victim, SHOP, expected)
        if not s3:
            return _kill(_in_folder(victim, folder / "place"), expected, times, random.Random(seed))
        with _in_object_store(victim, folder) as target:
            return _kill(target, expected, times, random.Random(seed))


def _kill(target: Target, expected: Path, times: int, moments: random.Random) -> int:
    begun = monotonic()
    _finish(target.arguments)
    lasts = monotonic() - begun
    target.compare(expected)
    target.clear()
    killed = 0
    while killed < times:
        process = subprocess.Popen(
            [*BINX, *target.arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        try:
            process.wait(moments.uniform(0, lasts * 1.1))
        except subprocess.TimeoutExpired:
            killed += _kill_one(process, moments)
            target.check()
        else:
            assert process.returncode == 0
        if process.returncode == 0:
            _finish(target.arguments)
            target.compare(expected)
            target.clear()
    _finish(target.arguments)
    target.compare(expected)
    return killed


def _kill_one(process: subprocess.Popen[bytes], moments: random.Random) -> bool:
    """Kill a command, or one of the processes that decode for it; says whether it ended of that.

    Raises:
        subprocess.TimeoutExpired: a process of the command was left behind.
    """
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    chosen = moments.choice([process.pid, *map(int, children)])
    with suppress(ProcessLookupError):
        os.kill(chosen, signal.SIGKILL)
    # Each of its processes holds the pipe until it is gone.
    _, told = process.communicate(timeout=GONE_SECONDS)
    if process.returncode == 1:
        assert chosen != process.pid
        assert b"was ended from outside (signal 9)" in told, told.decode()
    else:
        assert process.returncode in (0, -signal.SIGKILL), told.decode()
    return process.returncode != 0


def main() -> None:
    """Kill one command, and say how often."""
    parser = argparse.ArgumentParser(prog="python -m tests.archive.killing", description=__doc__)
    parser.add_argument("command", choices=list(VICTIMS))
    parser.add_argument("times", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=random.randrange(1 << 30))
    parser.add_argument("--s3", action="store_true", help="write to an object store")
    arguments = parser.parse_args()
    print(f"{arguments.command}: seed {arguments.seed}", flush=True)
    killed = kill_at_random(arguments.command, arguments.times, arguments.seed, s3=arguments.s3)
    print(f"{arguments.command}: {killed} runs killed, nothing lost")


if __name__ == "__main__":
    main()
