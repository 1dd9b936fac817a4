"""One round of the differential test: a workload on a server, and all that must agree about its logs."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from binx.rows.ddl.catalog import Catalog
from testdata.servers import Server, ServerError
from tests.exports import export
from tests.live.logs import empty, set_gtid_mode
from tests.live.reading import compare_with_listing
from tests.live.state import final_state
from tests.live.tables_at_end import TableAtEnd, compare_servers, compare_state, loaded_state, read_tables
from tests.live.workload.changes import LOAD_FILE
from tests.live.workload.sessions import last_settings
from tests.live.workload.workload import Workload

MOST_OF_AN_ERROR = 1000
MIXED_FORMATS = "checksum"
"""What the refusal to put logs of different checksums into one slice speaks of."""


@dataclass(slots=True)
class Round:
    """A round on one server."""

    server: Server
    replica: Server
    seed: str
    folder: Path
    sessions: int = 60
    counts: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    _sql_refused: bool = False
    _logs: list[Path] = field(default_factory=list)
    _tables: dict[tuple[str, str], TableAtEnd] = field(default_factory=dict)
    _from_rows: set[tuple[str, str]] = field(default_factory=set)

    @property
    def mariadb(self) -> bool:
        """Whether the server is a MariaDB."""
        return self.server.daemon == "mariadbd"

    def differences(self) -> list[str]:
        """Everything that does not agree; empty after a clean round."""
        self.record()
        return [
            *(f"Parquet and SELECT: {line}" for line in self.compare_parquet()),
            *(f"{self.server.binlog_reader}: {line}" for line in self.compare_reading()),
            *(f"replay of a binary log: {line}" for line in self.replay("binlog")),
            *(f"replay of SQL: {line}" for line in self.replay("sql")),
        ]

    def record(self) -> None:
        """Run the workload, keep its logs, and ask the server for its tables."""
        self._empty(self.server)
        (self.folder / LOAD_FILE).write_text("".join(f"{3 * i}\ttext {i}\n" for i in range(20)))
        workload = Workload(self.seed, mariadb=self.mariadb, sessions=self.sessions)
        for step in workload.steps():
            errors = self.server.attempt(step.sql, self.folder)
            if step.must and errors:
                text = step.sql.decode(errors="replace")
                raise ServerError(
                    f"seed {self.seed}: the workload itself is wrong: {errors[0]} in\n{text[:2000]}"
                )
            self.counts["statements"] += step.sql.count(b";\n")
            self.counts["errors"] += len(errors)
        self._sql_refused = workload.sql_refused
        self._from_rows = {(table.db, table.name) for table in workload.tables if not table.statements}
        self.server.flush_logs()
        for log in self.server.binlogs():
            shutil.copy(log, self.folder)
            self._logs.append(self.folder / log.name)
        self._tables = read_tables(self.server)

    def compare_parquet(self) -> Iterator[str]:
        """The data set's current state against SELECT."""
        lake = self.folder / "lake"
        for report in export(lake, self._logs):
            losses = report.manifest["losses"]
            yield from (f"{report.manifest['source']['name']}: loss {loss}" for loss in losses)
        states = final_state(lake)
        for name in sorted(self._from_rows):
            table = self._tables[name]
            if name not in states and table.rows:
                yield f"{name}: no changes are in the data set"
            elif name in states and states[name].ambiguous:
                self.counts["ambiguous"] += 1
            elif name in states:
                self.counts["tables"] += 1
                if (absent := states[name].absent) is not None:
                    yield absent
                yield from compare_state(name, table, states[name], self.counts)

    def compare_load(self, load: Callable[[list[Path], Path], dict[str, Any]]) -> Iterator[str]:
        """What a loader makes of overlapping exports, taken in any order, against SELECT."""
        choose = random.Random(self.seed)
        lakes = [self.folder / "whole", self.folder / "again"]
        export(lakes[0], self._logs)
        export(lakes[1], self._logs, compression="none")
        manifests = [path for lake in lakes for path in sorted((lake / "_manifest").iterdir())]
        choose.shuffle(manifests)
        pieces = [self.folder / "piece-0", self.folder / "piece-1"]
        for path in manifests[: len(manifests) // 2]:
            piece = pieces[path.parent.parent == lakes[1]]
            (piece / "_manifest").mkdir(parents=True, exist_ok=True)
            (piece / "_manifest" / path.name).symlink_to(path)
            for kind in ("changes", "statements", "schemas"):
                if (path.parent.parent / kind).exists() and not (piece / kind).exists():
                    (piece / kind).symlink_to(path.parent.parent / kind)
        tables = self.folder / "tables"
        load([piece for piece in pieces if piece.exists()], tables)
        summary = load(lakes, tables)
        states = final_state(lakes[0])
        lives = json.loads((tables / "_state.json").read_text("utf-8"))["lives"].values()
        errors = {(table["db"], table["table"]): table for table in summary["tables"] if table["error"]}
        for name, table in errors.items():
            yield f"{name} was stopped: {table['error']}"
        for table in summary["tables"]:
            reasons = "; ".join(table["reasons"])
            if "do not fit the rows before" in reasons and "logged as statements" not in reasons:
                yield f"{table['db']}.{table['table']}: {reasons}"
        by_name = {(life["name"][0], life["name"][1]): life for life in lives}
        for name in sorted(self._from_rows - errors.keys()):
            table, state = self._tables[name], states.get(name)
            if state is None or state.ambiguous or state.absent is not None:
                continue
            if name in by_name:
                self.counts["loaded tables"] += 1
                found = loaded_state(tables, by_name[name], table)
                yield from compare_state(name, table, found, self.counts)
            elif table.rows and table.description["primary_key"]:
                yield f"{name} is not among the tables that were loaded"

    def compare_reading(self) -> Iterator[str]:
        """Transactions and rows against the server's own reader, log by log."""
        catalog = Catalog()
        for log in self._logs:
            yield from compare_with_listing(self.server, log, catalog, self.seen)

    def replay(self, form: str) -> Iterator[str]:
        """What ``extract`` makes of the logs leads an empty server to the same tables.

        Where the logs themselves do not lead there, as some that a MariaDB wrote do not, nothing is said, and
        the round is counted as ``unrepeatable``.
        """
        if form == "sql" and self._sql_refused and self._is_refused():
            return
        lines = self._replayed(lambda: self._extracted(form), json_as_values=form == "sql")
        control = self._replayed(lambda: iter(self._logs), json_as_values=False) if lines else []
        if control:
            self.counts["unrepeatable"] += 1
        else:
            yield from lines

    def _is_refused(self) -> bool:
        """Whether the logs hold what SQL cannot repeat, and are refused with the way out."""
        try:
            self._extract("sql", self._logs, self.folder / "refused.sql")
        except ServerError as error:
            return "--format binlog" in str(error)
        return False

    def _replayed(self, pieces: Callable[[], Iterator[Path]], *, json_as_values: bool) -> list[str]:
        """What differs when an empty server has run some files, binary logs or SQL."""
        self._empty(self.replica)
        set_gtid_mode(self.replica, "ON_PERMISSIVE")
        try:
            for piece in pieces():
                sql = piece.suffix == ".sql"
                self.replica.script(piece.read_bytes() if sql else self.replica.mysqlbinlog(piece))
        except ServerError as error:
            return [f"{str(error)[:MOST_OF_AN_ERROR]}"]
        finally:
            set_gtid_mode(self.replica, "ON")
        return compare_servers(self._tables, read_tables(self.replica), json_as_values=json_as_values)

    def _extracted(self, form: str) -> Iterator[Path]:
        """One slice of all logs, or a slice of each where their formats differ."""
        whole = self.folder / f"slice.{form}"
        try:
            self._extract(form, self._logs, whole)
        except ServerError as error:
            if form != "binlog" or MIXED_FORMATS not in str(error):
                raise
        else:
            yield whole
            return
        for log in self._logs:
            piece = self.folder / f"{log.name}.{form}"
            self._extract(form, [log], piece)
            yield piece

    def _extract(self, form: str, logs: list[Path], target: Path) -> None:
        command = [sys.executable, "-m", "binx", "extract", "--format", form, "-q", "-o", str(target)]
        if form == "sql":
            command.append(f"--local-load={self.folder / 'loaded'}")
        done = subprocess.run([*command, *map(str, logs)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerError(f"binx extract --format {form} ended with {done.returncode}: {done.stderr}")

    def _empty(self, server: Server) -> None:
        for setting in last_settings(mariadb=self.mariadb):
            server.sql(setting)
        set_gtid_mode(server, "ON")
        self._end_prepared(server)
        empty(server)

    def _end_prepared(self, server: Server) -> None:
        """Roll back the XA transactions that a replay which failed has left, and whose locks would stay."""
        if self.mariadb:
            names = [str(row[-1]) for row in server.query("XA RECOVER FORMAT='SQL'")]
        else:
            names = []
            for number, first, _, data in server.query("XA RECOVER CONVERT XID"):
                digits, cut = str(data).removeprefix("0x"), 2 * int(str(first))
                names.append(f"X'{digits[:cut]}',X'{digits[cut:]}',{number}")
        for name in names:
            server.sql(f"XA ROLLBACK {name}")
