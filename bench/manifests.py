"""``python -m bench.manifests``: what a load takes that has many manifests to list, in a store far away.

The store answers each request after a delay. The first load reads all manifests, the next one lists them and
reads the one that is new; neither has rows, so Spark does not start. For each, the wall and processor seconds
of the load, and the requests and processor seconds of the store, which runs on the same machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial

from bench.object_store import object_store, store_uri, store_work
from binx.lake.options import LoadOptions
from binx.lake.place import Place
from binx.spark.run import run_load

_IDENTITY = "5eed5eed"


def main(words: Sequence[str] | None = None) -> int:
    """Measure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.manifests", description=__doc__)
    parser.add_argument("--logs", type=int, default=100_000, help="manifests (default: %(default)s)")
    parser.add_argument("--delay", type=float, default=0.03, help="seconds a request (default: %(default)s)")
    found = parser.parse_args(words)
    print(f"{'load':<8} {'wall s':>8} {'cpu s':>8} {'requests':>10} {'cpu s of the store':>20}")
    with object_store(partial(_manifests, found.logs), found.delay) as port:
        _measure("first", port)
        path, document = _manifest(found.logs + 1)
        Place(store_uri(port, "bench/lake")).put(path, document)
        _measure("next", port)
    return 0


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
