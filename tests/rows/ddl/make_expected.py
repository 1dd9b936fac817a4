"""Asks a server what columns the statements of cases.py make; the answers stand beside this file.

    python -m tests.rows.ddl.make_expected mysql mysql -uroot --socket=/run/mysqld/mysqld.sock
    python -m tests.rows.ddl.make_expected mariadb mariadb -uroot

The first argument names the expectations, the rest is the command of a client for an otherwise
empty server; databases ``ddl_…`` are dropped first. After each statement the file holds the tables that
it changed, each column as [name, type, nullable, charset, collation, place in the primary key, extra,
whether the server shows it as part of the key that tells rows apart].
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.rows.ddl.cases import CASES, Case

COLUMNS = """
SELECT JSON_ARRAY(c.table_schema, c.table_name, c.column_name, c.column_type, c.is_nullable = 'YES',
                  c.character_set_name, c.collation_name, k.ordinal_position - 1, c.extra,
                  c.column_key = 'PRI')
FROM information_schema.columns c LEFT JOIN information_schema.key_column_usage k
  ON k.table_schema = c.table_schema AND k.table_name = c.table_name
     AND HEX(k.column_name) = HEX(c.column_name) AND k.constraint_name = 'PRIMARY'
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
  AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE')
WHERE c.table_schema LIKE 'ddl\\_%' ORDER BY c.table_schema, c.table_name, c.ordinal_position;
"""

Tables = dict[str, list[list[Any]]]


def run(client: list[str], sql: str) -> tuple[str, str]:
    """Feed SQL to a client of its own; returns its answer and its first line of complaint."""
    options = ["--batch", "--raw", "--skip-column-names", "--comments", "--default-character-set=utf8mb4"]
    done = subprocess.run([*client, *options], input=sql.encode(), capture_output=True, check=False)
    complaint = done.stderr.decode().strip().splitlines()
    return done.stdout.decode(), complaint[-1] if done.returncode and complaint else ""


def columns(client: list[str]) -> Tables:
    """All columns of the databases under test."""
    tables: Tables = {}
    answer, complaint = run(client, COLUMNS)
    if complaint:
        raise SystemExit(complaint)
    for line in answer.splitlines():
        db, table, *facts = json.loads(line)
        facts[2], facts[7] = bool(facts[2]), bool(facts[7])
        tables.setdefault(f"{db}.{table}", []).append(facts)
    return tables


def answer(client: list[str], case: Case, before: Tables) -> tuple[dict[str, Any], Tables]:
    """What a statement did: the tables it changed (null where gone), or the server's error."""
    sql = f"SET sql_mode='{case.sql_mode}';\n" if case.sql_mode else ""
    database = "" if "DATABASE ddl_a" in case.sql else "USE ddl_a;\n"
    _, complaint = run(client, f"{sql}{database}{case.sql};\n")
    after = columns(client)
    changed = {
        name: after.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)
    }
    record: dict[str, Any] = {"sql": case.sql}
    if complaint:
        record["error"] = complaint
    if changed:
        record["tables"] = changed
    return record, after


def main(server: str, client: list[str]) -> None:
    """Run all statements and write the expectations."""
    for database in ("ddl_a", "ddl_b", "ddl_c"):
        run(client, f"DROP DATABASE IF EXISTS {database};")
    version, collation = run(client, "SELECT VERSION(); SELECT @@collation_server;")[0].split()
    tables: Tables = {}
    records = []
    for case in CASES:
        if case.is_for(server):
            record, tables = answer(client, case, tables)
            records.append(record)
    lines = ",\n".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    head = json.dumps({"version": version, "collation": collation})
    path = Path(__file__).with_name(f"expected_{server}.json")
    path.write_text(f'{{"server":{head},"statements":[\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
