"""``binx load``: tables of a data set, with Spark on this machine."""

from __future__ import annotations

import sys

import click

from binx.cli.options import OUTPUT, QUIET, Example, Parsed, command, option
from binx.cli.terminal import is_terminal
from binx.errors import UsageError
from binx.spark.session import run_load

SPARK = "Spark"

EXAMPLES = (
    Example(
        "history and current state of all tables; run again, it takes what is new",
        "binx load --input lake --output tables",
    ),
    Example(
        "one table, every version of each row with its time",
        "binx load --input lake --output tables --table shop.orders --scd2",
    ),
)

DETAILS = (
    "For each table, history/ has all row changes, and current/ the rows as they are after the last change."
    " The output is committed as a whole: after a kill it is as it was before, and the next run goes on from"
    " there. Needs Java and `pip install 'binx[spark]'`. On a cluster, give spark-submit the script that"
    " binx-spark-script(1) names; it takes the same options.",
)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"expected NAME=VALUE, found {text!r}")
    return name, value


@command("load", examples=EXAMPLES, details=DETAILS)
@option(
    "--input",
    "inputs",
    metavar="DIR",
    multiple=True,
    required=True,
    section=OUTPUT,
    help="A data set of to-parquet; several may overlap.",
)
@option("--output", metavar="DIR", required=True, section=OUTPUT, help="The folder of the tables.")
@option(
    "--table", "tables", metavar="DB.TABLE", multiple=True, section=OUTPUT, help="Only these; * and ? match."
)
@option(
    "--key",
    "keys",
    metavar="DB.TABLE=COLUMN,...",
    multiple=True,
    section=OUTPUT,
    help="The key of a table that records none.",
)
@option(
    "--chain",
    "chains",
    metavar="SERVER",
    multiple=True,
    section=OUTPUT,
    help="Apply servers in this order.  [default: by first commit]",
)
@option(
    "--on-conflict",
    type=click.Choice(["column", "stop"]),
    default="column",
    show_default=True,
    section=OUTPUT,
    help="What to do with values whose type does not fit later ones.",
)
@option("--scd2", is_flag=True, section=OUTPUT, help="Write every version of each row too.")
@option(
    "--verify", is_flag=True, section=OUTPUT, help="Compare new files with the hashes in their manifests."
)
@option(
    "--compression",
    type=click.Choice(["zstd", "snappy", "lz4", "none"]),
    default="zstd",
    show_default=True,
    section=OUTPUT,
    help="Of the Parquet files.",
)
@option("--break-lock", is_flag=True, section=OUTPUT, help="Take the lock of a run that is known to be dead.")
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print the summary as one JSON object.")
@option(
    "--master", metavar="URL", section=SPARK, help="Spark's master.  [default: all cores of this machine]"
)
@option("--driver-memory", metavar="SIZE", section=SPARK, help="Memory of Spark's driver, as 4g.")
@option(
    "--conf",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    type=Parsed("setting", _setting),
    section=SPARK,
    help="Any setting of Spark.",
)
@QUIET
def load_command(
    inputs: tuple[str, ...],
    output: str,
    tables: tuple[str, ...],
    keys: tuple[str, ...],
    chains: tuple[str, ...],
    on_conflict: str,
    scd2: bool,
    verify: bool,
    compression: str,
    break_lock: bool,
    as_json: bool,
    master: str | None,
    driver_memory: str | None,
    settings: tuple[tuple[str, str], ...],
    quiet: bool,
) -> int:
    """Make tables of a data set with Spark: all changes, and the current rows by primary key."""
    arguments = ["--output", output, "--on-conflict", on_conflict, "--compression", compression]
    repeated = {"--input": inputs, "--table": tables, "--key": keys, "--chain": chains}
    for name, values in repeated.items():
        arguments += [part for value in values for part in (name, value)]
    flags = {
        "--scd2": scd2,
        "--verify": verify,
        "--break-lock": break_lock,
        "--json": as_json,
        "--quiet": quiet,
    }
    arguments += [name for name, is_set in flags.items() if is_set]
    return run_load(
        arguments,
        master=master,
        memory=driver_memory,
        settings=dict(settings),
        progress=None if quiet or not is_terminal(sys.stderr) else _show_step,
    )


def _show_step(done: int, total: int, what: str) -> None:
    print(f"binx: [{done}/{total}] {what}", file=sys.stderr, flush=True)
