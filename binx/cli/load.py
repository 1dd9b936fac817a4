"""``binx load``: tables of a data set, with Spark on this machine."""

from __future__ import annotations

from binx.cli.declaration import OUTPUT, Choice, Example, FilePath, Parsed, argument, command, option
from binx.cli.options import COMPRESSION, QUIET
from binx.cli.progress import progress_bar
from binx.cli.spark_options import SPARK_OPTIONS, allow_numpy
from binx.cli.terminal import text_output
from binx.errors import UsageError
from binx.source.json_text import json_text
from binx.spark.loading.arguments import CATALOG_ALONE, Options, parse_key
from binx.spark.loading.records import FORMATS, ICEBERG, PARQUET
from binx.spark.session import run_load

EXAMPLES = (
    Example(
        "history and current state of all tables; run again, it takes what is new",
        "binx load lake --output tables",
    ),
    Example(
        "the same as Delta tables",
        "binx load lake --output delta --format delta",
    ),
    Example(
        "one table, every version of each row with its time",
        "binx load lake --output tables --table shop.orders --scd2",
    ),
)

DETAILS = (
    "For each table, history/ has all row changes, and current/ the rows as they are after the last change."
    " The output is committed as a whole: after a kill it is as it was before, and the next run goes on from"
    " there. Needs `pip install 'binx[spark]'` and Java, which `pip install 'binx[jre]'` brings where the"
    " machine has none. On a cluster, give spark-submit the script that binx-spark-script(1) names; it takes"
    " the same options, and the data sets by --input.",
)


def _key(text: str) -> tuple[str, tuple[str, ...]]:
    try:
        return parse_key(text)
    except ValueError as error:
        raise UsageError(str(error)) from error


@command("load", examples=EXAMPLES, details=DETAILS)
@option(
    "-o",
    "--output",
    metavar="OUT",
    value=FilePath(),
    required=True,
    section=OUTPUT,
    help="The folder of the tables.",
)
@option(
    "--table",
    name="tables",
    metavar="DB.TABLE",
    multiple=True,
    section=OUTPUT,
    help="Only these; * and ? match.",
)
@option(
    "--key",
    name="keys",
    metavar="DB.TABLE=COLUMN,...",
    multiple=True,
    value=Parsed("key", _key),
    section=OUTPUT,
    help="The key of a table that records none.",
)
@option(
    "--chain",
    name="chains",
    metavar="SERVER",
    multiple=True,
    section=OUTPUT,
    help="Apply servers in this order.  [default: by first commit]",
)
@option(
    "--on-conflict",
    value=Choice("column", "stop"),
    default="column",
    show_default=True,
    section=OUTPUT,
    help="What to do with values whose type does not fit later ones.",
)
@option("--scd2", is_flag=True, section=OUTPUT, help="Write every version of each row too.")
@option(
    "--verify", is_flag=True, section=OUTPUT, help="Compare new files with the hashes in their manifests."
)
@COMPRESSION
@option(
    "--format",
    name="table_format",
    value=Choice(*FORMATS),
    default=PARQUET,
    show_default=True,
    section=OUTPUT,
    help="Of the tables; iceberg needs Iceberg's packages (--conf).",
)
@option(
    "--catalog", metavar="NAME", section=OUTPUT, help="Where Iceberg's tables go.  [default: the session's]"
)
@option("--break-lock", is_flag=True, section=OUTPUT, help="Take the lock of a run that is known to be dead.")
@option("--json", name="as_json", is_flag=True, section=OUTPUT, help="One JSON object, the summary.")
@SPARK_OPTIONS
@option("--input", name="inputs", metavar="DIR", multiple=True, hidden=True)
@QUIET
@argument("folders", metavar="DIR...", value=FilePath(), multiple=True, required=False)
def load_command(
    folders: tuple[str, ...],
    inputs: tuple[str, ...],
    output: str,
    tables: tuple[str, ...],
    keys: tuple[tuple[str, tuple[str, ...]], ...],
    chains: tuple[str, ...],
    on_conflict: str,
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
) -> int:
    """Make tables of data sets of to-parquet with Spark: all changes, and the current rows by key."""
    allow_numpy()
    if not (folders or inputs):
        raise UsageError("expected the folder of a data set that to-parquet wrote")
    if catalog and table_format != ICEBERG:
        raise UsageError(CATALOG_ALONE)
    options = Options(
        inputs=(*folders, *inputs),
        output=output,
        tables=tables,
        keys=dict(keys),
        chains=chains,
        apart=on_conflict == "column",
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
    return summary.exit_code
