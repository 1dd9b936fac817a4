"""Logs with one purpose each, made from the SQL files that stand beside them.

An SQL file begins with a line that says what the log is for. Up to three sections follow, each begun by a
line of its own: ``-- before`` (settings, not in the log), ``-- log`` (what the log holds) and ``-- after``
(settings back again); only ``-- log`` must be there.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from testdata.expected import databases_of, rows_document, write_json
from testdata.servers import Server, ServerError

_SECTION = re.compile(r"^-- (before|log|after)$", re.MULTILINE)


def record_small(server: Server, recipes: Path, made: Path) -> None:
    """Run each SQL file of a folder on an empty server with an empty log; write its log, listing and rows.

    Args:
        server: a running server; its databases are dropped.
        recipes: the folder of the SQL files, and of files that they load.
        made: where ``NAME.binlog``, ``NAME.txt`` (the server's own reader's listing, ``-vv``) and
            ``NAME.expected.json`` (all tables and their rows) go.
    """
    made.mkdir(parents=True, exist_ok=True)
    for recipe in sorted(recipes.glob("*.sql")):
        try:
            record_one(server, recipe, made)
        except ServerError as error:
            raise ServerError(f"{recipe.name}: {error}") from error


def record_one(server: Server, recipe: Path, made: Path) -> None:
    """Do for one SQL file what `record_small` does for all."""
    sections = split_sections(recipe.read_text())
    drop_databases(server)
    server.script(sections["before"])
    server.reset()
    server.script(sections["log"], folder=recipe.parent)
    server.flush_logs()
    target = made / f"{recipe.stem}.binlog"
    shutil.copy(server.binlogs()[0], target)
    (made / f"{recipe.stem}.txt").write_bytes(_listing(server, target))
    write_json(made / f"{recipe.stem}.expected.json", rows_document(server))
    server.script(sections["after"])


def _listing(server: Server, log: Path) -> bytes:
    """What the server's own reader prints of a log; without its rows where it cannot decode them."""
    try:
        return server.mysqlbinlog("-vv", "--base64-output=decode-rows", log)
    except ServerError:
        return server.mysqlbinlog("--base64-output=decode-rows", log)


def split_sections(text: str) -> dict[str, str]:
    """The sections of an SQL file by name; empty text for those that it does not have."""
    parts = _SECTION.split(text)
    return {"before": "", "log": "", "after": ""} | dict(zip(parts[1::2], parts[2::2], strict=True))


def drop_databases(server: Server) -> None:
    """Leave the server as empty as a new one."""
    for database in databases_of(server):
        server.sql("DROP DATABASE `" + database.replace("`", "``") + "`")
