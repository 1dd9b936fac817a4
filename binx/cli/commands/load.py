"""``binx load``: tables from a data set, with Spark on this machine."""

from __future__ import annotations

import click

from binx.cli.command import OUTPUT, PATH, Example, command, option, parsed
from binx.cli.options import COMPRESSION, QUIET, SPARK_OPTIONS
from binx.cli.progress import progress_bar
from binx.cli.terminal import text_output
from binx.errors import ExitCode, UsageError
from binx.source.json_text import json_text
from binx.spark.loading.arguments import CATALOG_ALONE, Options, parse_key
from binx.spark.loading.records import FORMATS, ICEBERG, PARQUET
from binx.spark.session import run_load

EXAMPLES = (
    Example(
        "history and current state of all tables; later runs process only what is new",
        "binx load lake --output tables",
    ),
    Example(
        "the same as Delta tables",
        "binx load lake --output delta --format delta",
    ),
    Example(
        "one table, with every version of each row and its validity",
        "binx load lake --output tables --table shop.orders --scd2",
    ),
)

DETAILS = (
    "For each table, history/ contains all row changes and current/ the rows after the last change. The"
    " output is committed as a whole: if a run is killed, the previous state remains and the next run"
    " continues from there. Requires `pip install 'binx[spark]'` and Java; `pip install 'binx[jre]'`"
    " installs a Java runtime if the machine has none. On a cluster, run the script printed by"
    " binx-spark-script(1) with spark-submit; it takes the same options, with the data sets given by"
    " --input.",
)


@command("load", examples=EXAMPLES, details=DETAILS)
@option(
    "-o",
    "--output",
    metavar="OUT",
    type=PATH,
    required=True,
    section=OUTPUT,
    help="Output folder of the tables.",
)
@option(
    "--table",
    "tables",
    metavar="DB.TABLE",
    multiple=True,
    section=OUTPUT,
    help="Only these tables; * and ? match.",
)
@option(
    "--key",
    "keys",
    metavar="DB.TABLE=COLUMN,...",
    multiple=True,
    type=parsed(parse_key),
    section=OUTPUT,
    help="Key columns of a table that has no recorded key.",
)
@option(
    "--chain",
    "chains",
    metavar="SERVER",
    multiple=True,
    section=OUTPUT,
    help="Order in which servers are applied; may be repeated.  [default: by first commit]",
)
@option(
    "--on-conflict",
    type=click.Choice(["column", "stop"]),
    default="column",
    show_default=True,
    section=OUTPUT,
    help="Values of an incompatible former type: move to a column of their own, or stop.",
)
@option("--partial", is_flag=True, section=OUTPUT, help="Tables whose beginning the logs lack are no loss.")
@option("--scd2", is_flag=True, section=OUTPUT, help="Also write every version of each row.")
@option(
    "--verify", is_flag=True, section=OUTPUT, help="Verify new files against the hashes in their manifests."
)
@COMPRESSION
@option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default=PARQUET,
    show_default=True,
    section=OUTPUT,
    help="Table format; iceberg needs Iceberg's packages (--conf).",
)
@option("--catalog", metavar="NAME", section=OUTPUT, help="Iceberg catalog.  [default: the session's]")
@option(
    "--break-lock", is_flag=True, section=OUTPUT, help="Remove the lock of a run that is no longer running."
)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print the summary as one JSON object.")
@SPARK_OPTIONS
@option("--input", "inputs", metavar="DIR", multiple=True, hidden=True)
@QUIET
@click.argument("folders", metavar="DIR...", type=PATH, nargs=-1, required=False)
def load_command(
    folders: tuple[str, ...],
    inputs: tuple[str, ...],
    output: str,
    tables: tuple[str, ...],
    keys: tuple[tuple[str, tuple[str, ...]], ...],
    chains: tuple[str, ...],
    on_conflict: str,
    partial: bool,
    scd2: bool,
    verify: bool,
    compression: str,
    table_format: str,
    catalog: str | None,
    break_lock: bool,
    as_json: bool,
    master: str | None,
    driver_memory: str | None,
    settings: tuple[tuple[str, str], ...],
    quiet: bool,
) -> ExitCode:
    """Build tables from data sets of to-parquet with Spark: all changes, and the current rows by key."""
    if not (folders or inputs):
        raise UsageError("expected a data set written by to-parquet")
    if catalog and table_format != ICEBERG:
        raise UsageError(CATALOG_ALONE)
    options = Options(
        inputs=(*folders, *inputs),
        output=output,
        tables=tables,
        keys=dict(keys),
        chains=chains,
        apart=on_conflict == "column",
        partial=partial,
        scd2=scd2,
        verify=verify,
        compression=compression,
        format=table_format,
        catalog=catalog or "",
        break_lock=break_lock,
    )
    with progress_bar("load", quiet=quiet) as bar:

        def show(done: int, total: int, _: str) -> None:
            bar.expect(total)
            bar.reach(done)

        summary = run_load(
            options, master=master, memory=driver_memory, settings=dict(settings), progress=show
        )
    with text_output() as text:
        if as_json:
            text.line(json_text(summary.to_json()))
        elif not quiet:
            for line in summary.lines():
                text.line(line)
    return ExitCode(summary.exit_code)
