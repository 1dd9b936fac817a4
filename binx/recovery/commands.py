"""Shell commands that carry out a recovery plan.

Sources: MySQL manual, "Point-in-Time Recovery Using Event Positions", "mysqlbinlog" and "START REPLICA";
MariaDB knowledge base, "Using mariadb-binlog" and "START REPLICA".
"""

from __future__ import annotations

import os
from shlex import join, quote
from typing import NamedTuple

from binx.event.format import MAGIC, Flavour
from binx.event.gtid.domains import domain_positions
from binx.log.chain.inputs import STANDARD_INPUT
from binx.log.chain.places import magic_of
from binx.recovery.recovery_plan import LogPart, RecoveryPlan
from binx.source.age import IDENTITY_VARIABLE
from binx.source.keyring import KEY_FILE_VARIABLE, KEYRING_VARIABLE
from binx.source.log_names import has_archive_tag, numbered_name, uncompressed_name
from binx.source.magic import is_gzip, is_zstd
from binx.source.remote import is_uri

FOLDER = "replay"
"""Folder for decompressed logs."""
RELAY = "binx-relay"
"""Base name of the relay logs made from binary logs."""


SERVED_AT = ("127.0.0.1", 3307)
"""Where ``binx serve`` listens."""


_DONE_WHEN = "# it is done when SHOW {} STATUS says that the SQL thread does not run; look for errors there"


class Programs(NamedTuple):
    """Names of a server's programs, statements and options.

    Attributes:
        change: begin of the statement that names a source; ``side`` begins the names of its settings.
        by_gtid: its setting for a start after the replica's GTIDs; ``by_position`` for one at a position.
    """

    reader: str
    client: str
    change: str
    side: str
    by_gtid: str
    by_position: str
    replica: str
    skip: str


_PROGRAMS = {
    Flavour.MARIADB: Programs(
        "mariadb-binlog",
        "mariadb --binary-mode --max-allowed-packet=1G",
        "CHANGE MASTER TO",
        "MASTER",
        "MASTER_USE_GTID=slave_pos",
        "MASTER_USE_GTID=no",
        "SLAVE",
        "--skip-slave-start",
    ),
    Flavour.MYSQL: Programs(
        "mysqlbinlog",
        "mysql --binary-mode --max-allowed-packet=1G",
        "CHANGE REPLICATION SOURCE TO",
        "SOURCE",
        "SOURCE_AUTO_POSITION=1",
        "SOURCE_AUTO_POSITION=0",
        "REPLICA",
        "--skip-replica-start",
    ),
}

_REPLICA_SINCE = (8, 0, 23)
"""Older versions of MySQL know only the words that MySQL 8.4 no longer knows."""
_OLD_MYSQL = _PROGRAMS[Flavour.MYSQL]._replace(
    change="CHANGE MASTER TO",
    side="MASTER",
    by_gtid="MASTER_AUTO_POSITION=1",
    by_position="MASTER_AUTO_POSITION=0",
    replica="SLAVE",
    skip="--skip-slave-start",
)


class Way(NamedTuple):
    """One way to carry out a plan.

    Attributes:
        name: identifier for programs, the same for all servers.
        purpose: description for users.
        lines: lines of a shell script; manual steps are comments.
    """

    name: str
    purpose: str
    lines: tuple[str, ...]


def replay_ways(plan: RecoveryPlan) -> list[Way]:
    """Return the ways to carry out a plan; empty if nothing can be replayed."""
    if not plan.replayable:
        return []
    old = plan.flavour is Flavour.MYSQL and plan.version < _REPLICA_SINCE
    programs = _OLD_MYSQL if old else _PROGRAMS[plan.flavour]
    ways = [_with_binx(plan, programs)]
    copies = [_copy(log) for log in plan.files]
    readable = [copy for copy in copies if copy is not None]
    # MariaDB's programs cannot skip transactions in the middle.
    if len(readable) == len(copies) and not (plan.held_gtids and plan.flavour is Flavour.MARIADB):
        paths = [path for path, _ in readable]
        copying = [line for _, line in readable if line]
        if copying:
            copying.insert(0, f"mkdir -p {FOLDER}")
        ways.insert(0, _with_reader(plan, programs, copying, paths))
        ways.append(_as_relay_logs(plan, programs, copying, paths))
    if all(log.path != STANDARD_INPUT for log in plan.files):
        ways.insert(0, _by_replication(plan, programs))
    return ways


def _by_replication(plan: RecoveryPlan, programs: Programs) -> Way:
    """Let the restored server replicate from binx, which offers the logs up to the end."""
    first, last = plan.files[0], plan.files[-1]
    side = programs.side
    host, port = SERVED_AT
    source = f"{side}_HOST='{host}', {side}_PORT={port}, {side}_SSL=0, {side}_USER='any'"
    if plan.backup.gtids and plan.gtid_set:
        source = f"{source}, {programs.by_gtid}"
    else:
        begin = f"{side}_LOG_FILE='{first.file}', {side}_LOG_POS={first.start}"
        source = f"{source}, {programs.by_position}, {begin}"
    known = ""
    until = f" UNTIL {side}_LOG_FILE='{last.file}', {side}_LOG_POS={last.end}"
    done = _DONE_WHEN.format(programs.replica)
    if plan.flavour is Flavour.MARIADB:
        # It stops at a position only when another transaction follows.
        reached = domain_positions([*plan.backup.gtids, *plan.gtid_set])
        until = f" UNTIL master_gtid_pos='{reached}'" if plan.backup.gtids else ""
        if plan.backup.gtids:
            known = f"SET GLOBAL gtid_slave_pos='{domain_positions(plan.backup.gtids)}'; "
        else:
            done = f"# it is done when @@gtid_slave_pos is {reached}; look for errors in SHOW SLAVE STATUS"
    paths = [operand(log.path) for log in plan.files]
    statements = f"{known}{programs.change} {source}; START {programs.replica}{until}"
    lines = (
        join(["binx", "serve", *_keys(), "--until", f"{last.file}:{last.end}", *paths]) + " &",
        "# start the server with a --server-id that is not in the logs",
        f'{programs.client} -e "{statements}"',
        done,
    )
    return Way("serve", "by replication from binx serve, with parallel workers, resumable", lines)


def _with_reader(plan: RecoveryPlan, programs: Programs, copying: list[str], paths: list[str]) -> Way:
    first, last = plan.files[0], plan.files[-1]
    options = [f"--start-position={first.start}", f"--stop-position={last.end}"]
    if plan.held_gtids:
        options.append(f"--exclude-gtids={plan.held_gtids}")
    line = f"{join([programs.reader, *options, *map(operand, paths)])} | {programs.client}"
    return Way("mysqlbinlog", f"with {programs.reader}", (*copying, line))


def _with_binx(plan: RecoveryPlan, programs: Programs) -> Way:
    first, last = plan.files[0], plan.files[-1]
    options = [
        "--start-position",
        f"{first.file}:{first.start}",
        "--stop-position",
        f"{last.file}:{last.end}",
    ]
    if plan.held_gtids:
        options += ["--exclude-gtid", str(plan.held_gtids)]
    paths = [operand(log.path) for log in plan.files]
    lines = (
        join(["binx", "extract", *_keys(), *options, "-o", "replay.binlog", *paths]),
        f"{programs.reader} replay.binlog | {programs.client}",
    )
    return Way("binx", "with binx extract, as one binary log", lines)


def _as_relay_logs(plan: RecoveryPlan, programs: Programs, copying: list[str], paths: list[str]) -> Way:
    """Let the restored server's applier replay the logs as relay logs, with its parallel workers."""
    names = [numbered_name(RELAY, number) for number in range(1, len(paths) + 1)]
    lines = [*copying, "DATADIR=${DATADIR:-/var/lib/mysql}  # of the restored server, which is stopped"]
    lines += [f'cp {quote(operand(path))} "$DATADIR/{name}"' for path, name in zip(paths, names, strict=True)]
    listed = " ".join(f"./{name}" for name in names)
    lines += [
        f'printf "%s\\n" {listed} > "$DATADIR/{RELAY}.index"',
        f'chown --reference="$DATADIR" "$DATADIR/{RELAY}".*',
        f"# start the server with --relay-log={RELAY} {programs.skip}"
        " and a --server-id that is not in the logs",
        f'{programs.client} -e "{_start_statements(plan, programs, names)}"',
        _DONE_WHEN.format(programs.replica),
    ]
    return Way("relay_logs", "as relay logs, with parallel workers", tuple(lines))


def _start_statements(plan: RecoveryPlan, programs: Programs, names: list[str]) -> str:
    begin = f"RELAY_LOG_FILE='{names[0]}', RELAY_LOG_POS={plan.files[0].start}"
    until = f"RELAY_LOG_FILE='{names[-1]}', RELAY_LOG_POS={plan.files[-1].end}"
    source = f"{programs.side}_HOST='nowhere', {programs.by_position}"
    return f"{programs.change} {source}, {begin}; START {programs.replica} SQL_THREAD UNTIL {until}"


def _copy(log: LogPart) -> tuple[str, str] | None:
    """Return the path of a copy that the server's programs can read, and the command that makes it.

    The command is empty if the log itself is readable. Return None if no command can make a copy.
    """
    copy = f"{FOLDER}/{log.file}"
    if has_archive_tag(log.path):
        folder, _, name = log.path.rpartition("/")
        stem = uncompressed_name(name)
        return copy, join(["binx", "archive", "--restore", stem, "--to", folder or ".", *_keys(), "-o", copy])
    if log.path == STANDARD_INPUT or is_uri(log.path):
        return None
    magic = magic_of(log.path)
    if magic == MAGIC:
        return log.path, ""
    if is_gzip(magic) or is_zstd(magic):
        program = "gzip" if is_gzip(magic) else "zstd"
        return copy, f"{join([program, '-dc', '--', log.path])} > {quote(copy)}"
    return None


def operand(path: str) -> str:
    """Return a path as an argument that no program takes for an option."""
    return f"./{path}" if path.startswith("-") and path != STANDARD_INPUT else path


def _keys() -> list[str]:
    """Return the options for the keys with which the logs were read; they stand in the environment."""
    variables = {
        "--keyring": KEYRING_VARIABLE,
        "--key-file": KEY_FILE_VARIABLE,
        "--identity": IDENTITY_VARIABLE,
    }
    paths = {name: os.environ.get(variable, "").split(os.pathsep) for name, variable in variables.items()}
    return [word for name in paths for path in filter(None, paths[name]) for word in (name, path)]
