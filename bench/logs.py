"""The measured binary logs: made once by a real server, kept in a folder, found again by kind and size."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.recipe import Recipe
from bench.recipes import RECIPES
from testdata.servers import MySQLServer, Server, ServerError

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "binx" / "bench"
_FACTS = "log.json"


@dataclass(frozen=True, slots=True)
class Log:
    """A binary log to measure with.

    Attributes:
        kind: its recipe's name.
        path: where it is.
        bytes: its size.
        server: the server that wrote it, with its version.
        gtid: a transaction's GTID, 1 % before the end.
        gtid_before: the GTID of the transaction before.
    """

    kind: str
    path: Path
    bytes: int
    server: str
    gtid: str
    gtid_before: str


def cache_key(recipe: Recipe, size: int) -> str:
    """The name of the folder that keeps a recipe's log of so many megabytes."""
    return f"{recipe.kind}-{size}MB-v{recipe.version}"


def find_log(recipe: Recipe, size: int, folder: Path) -> Log | None:
    """The log that was made before, or None."""
    kept = folder / cache_key(recipe, size)
    try:
        facts = json.loads((kept / _FACTS).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return Log(**{**facts, "path": kept / facts["path"]})


def need_log(kind: str, size: int, folder: Path) -> Log:
    """The log of a kind and size, made now where it is not there.

    Raises:
        MissingServerError: it must be made, and the server's programs are not on this machine.
        ServerError: the server did not start, or a statement failed.
    """
    recipe = RECIPES[kind]
    found = find_log(recipe, size, folder)
    if found is not None:
        return found
    print(f"making {kind}, {size} MB, with a server …", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as work:
        made = _make(recipe, size, Path(work))
        kept = folder / cache_key(recipe, size)
        shutil.rmtree(kept, ignore_errors=True)
        made.rename(kept)
    again = find_log(recipe, size, folder)
    if again is None:
        raise ServerError(f"{kept / _FACTS} is not there")
    return again


def _make(recipe: Recipe, size: int, work: Path) -> Path:
    """Have a server of its own write the log into a folder together with its facts."""
    server = recipe.server(work / "server", recipe.options)
    with server:
        server.reset()
        recipe.make(server, size)
        written = server.binlogs()[0]
        gtid, before = _late_gtid(server)
    made = work / "made"
    made.mkdir()
    path = made / written.name
    written.rename(path)
    path.chmod(0o644)
    log = Log(
        kind=recipe.kind,
        path=Path(path.name),
        bytes=path.stat().st_size,
        server=f"{'MySQL' if isinstance(server, MySQLServer) else 'MariaDB'} {server.version}",
        gtid=gtid,
        gtid_before=before,
    )
    facts = {**asdict(log), "path": path.name}
    (made / _FACTS).write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    return made


def _late_gtid(server: Server) -> tuple[str, str]:
    """A GTID 1 % before the last one, and the one before; the server must have begun to count at 1."""
    variable = "@@gtid_executed" if isinstance(server, MySQLServer) else "@@gtid_binlog_pos"
    executed = server.sql(f"SELECT {variable}").strip()
    mark = ":" if ":" in executed else "-"
    source, _, numbers = executed.rpartition(mark)
    last = int(numbers.rpartition("-")[2])
    number = last - last // 100
    return f"{source}{mark}{number}", f"{source}{mark}{number - 1}"
