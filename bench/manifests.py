"""``python -m bench.manifests``: what a load takes that has many manifests to list, or much history.

A store far away answers each request after a delay. The first load reads all manifests, the next one lists
them and reads the one that is new; neither has rows, so Spark does not start. For each, the wall and
processor seconds of the load, and the requests and processor seconds of the store, which runs on the same
machine.

Then a folder on this machine, with 300 tables whose logs were loaded every hour until they had ``--files``
files of changes: ``loaded`` as such loads leave history, with each earlier day of a table compacted;
``uncompacted`` with all files that they took. A load with one new manifest reads and writes the state and the
views: its wall and processor seconds, the most memory of its process, and the sizes of both.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from bench.object_store import object_store, store_uri, store_work
from binx.lake.dataset.files import ChangesFile, FileColumn, Version
from binx.lake.load_plan import applied, lives_of
from binx.lake.options import LoadOptions
from binx.lake.place import LakeStore
from binx.lake.state.json_records import to_json
from binx.lake.state.loaded_state import LifeState, RangeFile, State
from binx.lake.state.output_folder import STATE, Output
from binx.lake.table_name import TableName
from binx.spark.load_run import run_load

_IDENTITY = "5eed5eed"
_TABLES, _HOURS = 300, 24
_COMPACTED = 8
_ONE_LOAD = "--one-load"


def main(words: Sequence[str] | None = None) -> int:
    """Measure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.manifests", description=__doc__)
    parser.add_argument("--logs", type=int, default=100_000, help="manifests (default: %(default)s)")
    parser.add_argument("--delay", type=float, default=0.03, help="seconds a request (default: %(default)s)")
    parser.add_argument("--files", type=int, default=380_000, help="files of changes (default: %(default)s)")
    parser.add_argument(_ONE_LOAD, nargs=2, metavar="FOLDER", help=argparse.SUPPRESS)
    found = parser.parse_args(words)
    if found.one_load:
        return _one_load(*found.one_load)
    if found.logs:
        print(f"{'load':<8} {'wall s':>8} {'cpu s':>8} {'requests':>10} {'cpu s of the store':>20}")
        with object_store(partial(_manifests, found.logs), found.delay) as port:
            _measure("first", port)
            path, document = _manifest(found.logs + 1)
            LakeStore(store_uri(port, "bench/lake")).put(path, document)
            _measure("next", port)
    if found.files:
        print(
            f"{'history':<12} {'files':>8} {'wall s':>9} {'cpu s':>9} {'MB':>9} {'state MB':>9} {'views':>9}"
        )
        for name, most in (("loaded", _COMPACTED), ("uncompacted", _HOURS)):
            with tempfile.TemporaryDirectory(prefix="binx-bench-") as folder:
                _measure_history(name, found.files, most, Path(folder))
    return 0


def _measure_history(name: str, files: int, most: int, folder: Path) -> None:
    """Measure a load into tables whose history has at most so many files a table and day."""
    lake, tables = folder / "lake", folder / "tables"
    hours = files // _TABLES
    for path, document in map(_manifest, range(1, hours + 1)):
        LakeStore(str(lake)).put(path, document)
    run_load(LoadOptions((str(lake),), str(tables)))
    output = Output(LakeStore(str(tables)))
    state = output.state
    [chain] = state.order
    _fill(state, chain, hours, most)
    output.place.put(STATE, to_json(state))
    LakeStore(str(lake)).put(*_manifest(hours + 1))
    command = [sys.executable, "-m", "bench.manifests", _ONE_LOAD, str(lake), str(tables)]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    sizes = [sum(path.stat().st_size for path in tables.glob(glob)) / 1e6 for glob in ("_state*", "views*")]
    numbers = "".join(f" {figure:>9.1f}" for figure in [*figures, *sizes])
    print(f"{name:<12} {len(state.history):>8,}{numbers}", flush=True)


def _one_load(lake: str, tables: str) -> int:
    wall, cpu = time.perf_counter(), time.process_time()
    run_load(LoadOptions((lake,), tables))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, memory]))
    return 0


def _fill(state: State, chain: str, hours: int, most: int) -> None:
    """Put tables and their history into a state, as loads of a log each hour leave it."""
    names = [f"column_{number}" for number in range(12)]
    columns = tuple(FileColumn(name, name, "int32", "int") for name in names)
    version = Version("0a1b2c3d", columns, ("column_0",))
    days = range(-(-hours // _HOURS))
    for table in (TableName("shop", f"table_{number:03}") for number in range(_TABLES)):
        state.versions[table, version.name] = version
        for day in days:
            logs = list(range(day * _HOURS + 1, min(hours, (day + 1) * _HOURS) + 1))
            is_joined = len(logs) > most
            for number, group in enumerate([logs] if is_joined else [[log] for log in logs]):
                name = f"{table.table}-{day}-{number}".encode().hex().ljust(32, "0")
                folder = f"{table.folder}/history/version={version.name}/chain={chain.replace(':', '%3A')}"
                state.history.append(
                    ChangesFile(
                        identity=name * 2,
                        table=table,
                        version=version.name,
                        chain=chain,
                        root="",
                        path=f"{folder}/commit_date={date(2026, 11, 1) + timedelta(day)}/{name}.parquet",
                        rows=1000 * len(group),
                        bytes=40_000 * len(group),
                        first=(group[0] << 32) + 157,
                        last=(group[-1] << 32) + 99_157,
                        partial=False,
                    )
                )
    for life in lives_of(state):
        assert life.name is not None
        units, digest = applied(life)
        last = life.epochs[-1]
        ranges = (RangeFile(f"{life.name.folder}/current/{'0' * 32}.parquet", 1000, 40_000),)
        own = LifeState(life.id, life.name, life.name.folder, units, len(life.epochs), digest, ranges)
        state.lives[life.id] = replace(own, columns=last.columns, key=last.key)


def _measure(name: str, port: int) -> None:
    (requests, store), wall, cpu = store_work(port), time.perf_counter(), time.process_time()
    run_load(LoadOptions((store_uri(port, "bench/lake"),), store_uri(port, "bench/tables")))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    more, store_after = store_work(port)
    print(
        f"{name:<8} {wall:>8.1f} {cpu:>8.1f} {more - requests:>10,} {store_after - store:>20.1f}", flush=True
    )


def _manifests(count: int) -> dict[str, bytes]:
    documents = map(_manifest, range(1, count + 1))
    return {f"bench/lake/{path}": document for path, document in documents}


def _manifest(number: int) -> tuple[str, bytes]:
    """Return the path and the text of the manifest of a log without row changes."""
    name, scn = f"mysql-bin.{number:06}", number << 32 | 157
    files = [
        {"path": f"{kind}/{name}.{_IDENTITY}.parquet", "kind": kind, "rows": rows, "sha256": "0" * 64}
        for kind, rows in (("transactions", 100), ("statements", 0))
    ]  # fmt: skip
    document = {
        "contract": 1,
        "binx": "0.1.0",
        "source": {
            "name": name, "identity": _IDENTITY, "file_number": number, "bytes": 1 << 20, "sha256": "0" * 64,
            "server_id": 97, "server_version": "9.7.0", "flavour": "mysql", "create_timestamp": 0,
            "header_timestamp": 1_790_000_000 + number, "in_use": False,
        },
        "gtid_set": f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number * 100}-{number * 100 + 99}",
        "first_commit_version": scn,
        "last_commit_version": scn + 99_000,
        "first_commit_timestamp": "2026-11-01T00:00:00+00:00",
        "last_commit_timestamp": "2026-11-01T00:00:00+00:00",
        "files": files,
        "tables": [],
        "conservation": [],
        "request": {"selection": {}},
        "losses": [],
    }  # fmt: skip
    return f"_manifest/{name}.{_IDENTITY}.json", json.dumps(document, indent=1).encode()


if __name__ == "__main__":
    sys.exit(main())
