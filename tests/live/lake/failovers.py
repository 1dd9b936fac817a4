"""Servers that take over from each other, and back, as replicas that were promoted."""

from __future__ import annotations

from pathlib import Path

from testdata.servers import MariaDBServer, Server


def follow(replica: Server, source: Server) -> None:
    """Run on a replica what its source has logged and the replica does not have."""
    source.flush_logs()
    logs = source.binlogs()[:-1]
    if isinstance(source, MariaDBServer):
        [(position,)] = replica.query("SELECT @@gtid_binlog_pos")
        start = [f"--start-position={position}"] if position else []
    else:
        [(executed,)] = replica.query("SELECT @@gtid_executed")
        start = [f"--exclude-gtids={executed}"] if executed else []
    replica.script(source.mysqlbinlog(*start, *logs))


def made_again(folder: Path, kind: type[Server], number: int, source: Server, uuid: str = "") -> Server:
    """A server that has what another one has, from its dump; it runs.

    Args:
        number: the server's id.
        uuid: the identity of the server whose disk it has, which repeats the other one's logs instead; MySQL
            only.
    """
    updates = ("--log-slave-updates",) if kind is MariaDBServer else ()
    server = kind(folder, (f"--server-id={number}", *updates))
    server.start()
    if uuid:
        server.stop()
        (server.binlog_folder / "auto.cnf").write_text(f"[auto]\nserver-uuid={uuid}\n")
        server.start()
    if kind is MariaDBServer:
        [(state,)] = source.query("SELECT @@gtid_binlog_state")
        server.script(b"SET sql_log_bin = 0;\n" + source.dump("--databases", "shop"))
        server.reset()
        server.sql(f"SET GLOBAL gtid_binlog_state = '{state}'")
    elif uuid:
        server.reset()
        follow(server, source)
    else:
        server.reset()
        server.script(source.dump("--databases", "shop", "--set-gtid-purged=ON"))
    return server
