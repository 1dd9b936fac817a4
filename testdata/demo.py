"""The demonstration: from a real shop's binary logs to tables in Spark that equal what the server said.

Run by ``make demo``; every command that it runs is shown, and can be typed as it stands.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from binx.dataset.dataset import escape_name
from binx.errors import ExitCode
from testdata.compare import compare_shop

PROJECT = Path(__file__).resolve().parent.parent
SHOP = Path("testdata/mysql-9.7/shop")
DEMO = Path(".demo")
BINX = Path(sys.executable).with_name("binx")
SHOWN_LINES = 12


def say(text: str) -> None:
    """Print a line of explanation."""
    print(f"\n# {text}", flush=True)


def run(*arguments: str, lines: int | None = None) -> None:
    """Show a command, run it, and show what it prints.

    Args:
        arguments: of binx; one that names the shop's logs by a pattern is expanded, as a shell would.
        lines: how much of its output is shown; None for all.

    Raises:
        CalledProcessError: it failed. Code 3 is not a failure: all is done, and what could not be is listed.
    """
    print(f"$ binx {' '.join(arguments)}", flush=True)
    expanded = [part for argument in arguments for part in expand(argument)]
    piped = None if lines is None else subprocess.PIPE
    finished = subprocess.run([BINX, *expanded], check=False, cwd=PROJECT, stdout=piped, text=True)
    if finished.returncode not in (ExitCode.DONE, ExitCode.LOSSES):
        finished.check_returncode()
    if lines is not None:
        output = finished.stdout.splitlines()
        print("\n".join(output[:lines]))
        if len(output) > lines:
            print(f"… {len(output) - lines} more lines")


def expand(argument: str) -> list[str]:
    """The paths that a pattern matches, or the argument as it is."""
    if "*" not in argument:
        return [argument]
    return [str(path.relative_to(PROJECT)) for path in sorted(PROJECT.glob(argument))]


def main() -> int:
    """Run it all; returns 0 where Spark's tables equal the server's."""
    demo = json.loads((PROJECT / SHOP / "demo.json").read_text("utf-8"))
    logs = f"{SHOP}/mysql-bin.0*"
    lake, tables, cut = DEMO / "lake", DEMO / "tables", DEMO / "one.binlog"
    shutil.rmtree(PROJECT / DEMO, ignore_errors=True)
    (PROJECT / DEMO).mkdir()

    say("what is in these binary logs?")
    run("ls", logs, "--limit", str(SHOWN_LINES))
    say("what filled them?")
    run("stats", logs)
    say("one transaction, cut out by its GTID: as a binary log that mysqlbinlog and servers take, and as SQL")
    run("extract", "--gtid", demo["gtid"], logs, "-o", str(cut))
    run("ls", str(cut))
    run("extract", "--gtid", demo["gtid"], "--format", "sql", logs, "-o", "-", lines=4 * SHOWN_LINES)
    say("all row changes as Parquet")
    run("to-parquet", logs, "-o", str(lake))
    say("the current state of every table, by Spark; it lists the statements that no row tells of")
    run("load", "--input", str(lake), "--output", str(tables))

    say("is it what SELECT said on the server that wrote the logs?")
    equal = True
    for comparison in compare_shop(PROJECT / SHOP, lambda db, table: current_folder(tables, db, table)):
        verdict = "equal" if comparison.equal else "NOT EQUAL"
        print(f"{comparison.table:44} {comparison.rows:6,} rows  {verdict}")
        for row in comparison.missing[:3]:
            print(f"    missing:    {row}")
        for row in comparison.unexpected[:3]:
            print(f"    unexpected: {row}")
        equal &= comparison.equal
    print(f"\nThe Parquet files are in {lake}, Spark's tables in {tables}.")
    return 0 if equal else 1


def current_folder(tables: Path, db: str, table: str) -> Path:
    """Where the loader puts a table's current rows."""
    return PROJECT / tables / escape_name(db) / escape_name(table) / "current"


if __name__ == "__main__":
    sys.exit(main())
