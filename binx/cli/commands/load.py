"""``binx load``: build tables from a data set with Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import tzinfo
from typing import Any

import click

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.layout import UNKNOWN, aligned_lines
from binx.cli.options import COMPRESSION, QUIET, SPARK_OPTIONS, ZONE_OF_MOMENT, as_json_option
from binx.cli.progress import progress_bar
from binx.cli.terminal import say_warning, text_output
from binx.errors import AbsentError, BinxError, ExitCode, UsageError
from binx.lake.metrics import LoadRun, metrics_text
from binx.lake.options import (
    DELTA,
    LOAD_FORMATS,
    PARQUET,
    LoadOptions,
    parse_catalog,
    parse_key,
    parse_layout,
)
from binx.lake.status import Status, load_status
from binx.lake.summary import LoadSummary
from binx.lake.table_name import TableName
from binx.log.selection.times import moment_in_utc
from binx.report.document import json_line
from binx.spark.load_run import run_load
from binx.stats.text import safe_text, time_text
from binx.storage.output import open_output

EXAMPLES = (
    Example(
        "history and current state of all tables; later runs process only what is new",
        "binx load lake --output tables",
    ),
    Example("the same with Delta's transaction logs", "binx load lake --output delta --format delta"),
    Example(
        "one table, with every version of each row and its validity",
        "binx load lake --output tables --table shop.orders --scd2",
    ),
    Example(
        "the tables as they were before a mistake, in a folder of their own",
        "binx load lake --output before --at '2026-11-21 18:00'",
    ),
    Example("what is loaded, and which tables are complete", "binx load --status tables"),
)

_FIGURES = ("listed", "loaded", "inserts", "updates", "deletes", "current")


@command(
    "load",
    examples=EXAMPLES,
    brief="output table key at scd2 soft-deletes rebuild"
    " keep-history format catalog status accept-losses master driver-memory json",
)
@option("-o", "--output OUT", type=PATH, help="Output folder of the tables.")
@option("--table DB.TABLE", "tables", multiple=True, help="Only these tables; * and ? match.")
@option(
    "--key DB.TABLE=COLUMN,...",
    "keys",
    multiple=True,
    type=parsed(parse_key),
    help="Key columns of a table that has no recorded key; remembered.",
)
@option(
    "--chain SERVER",
    "chains",
    multiple=True,
    help="Order in which servers are applied; may be repeated.  [default: by first commit]",
)
@flag(
    "--shards",
    "Servers have tables of the same names with rows of their own: the server is part of each key, and the"
    " column _chain; remembered.",
)
@option(
    "--at TIME|GTID|FILE:POS",
    help="The tables as of then, into a folder of their own; every load makes them again."
    "  [default: the end of the logs]",
)
@ZONE_OF_MOMENT
@flag("--scd2", "Also write every version of each row.")
@flag("--soft-deletes", "Keep deleted rows in current/, with _deleted.")
@option(
    "--rebuild DB.TABLE",
    multiple=True,
    type=parsed(TableName.parse),
    help="Make a table's state again from its history.",
)
@flag("--compact", "Join all small files of history/ of a day or hour.  [default: where there are over 8]")
@option(
    "--keep-history DAYS",
    type=click.IntRange(min=0),
    help="Remove history/ of earlier days; tables can then not be made again from it.",
)
@flag("--hourly-history", "Divide history/ by the hour of commits instead of the day; remembered.")
@flag("--accept-losses", "Note what is missing as seen: it no longer changes the exit code.")
@flag("--verify", "Verify new files against the hashes in their manifests.")
@COMPRESSION
@option(
    "--format",
    type=click.Choice(LOAD_FORMATS),
    default=PARQUET,
    help=f"{DELTA} also writes Delta's transaction logs.",
)
@option(
    "--catalog CATALOG[.NAMESPACE]",
    type=parsed(parse_catalog),
    help="Keep the rows in tables of this catalog of the Spark session, not in files; remembered.",
)
@option(
    "--partition-by DB.TABLE=EXPRESSION,...",
    multiple=True,
    type=parsed(parse_layout),
    help="What a new table of the catalog is partitioned by, as SQL.",
)
@option(
    "--sort-by DB.TABLE=COLUMN,...",
    multiple=True,
    type=parsed(parse_layout),
    help="What rows are sorted by in a new table of the catalog.",
)
@flag("--break-lock", "Remove the lock of a run that is no longer running.")
@flag("--status", "Show what is loaded in the folder of the tables, and load nothing.")
@option(
    "--metrics FILE",
    type=PATH,
    help="Write what operators watch for Prometheus: lag, rows, losses, files and bytes of each table.",
)
@as_json_option("Print the summary as one JSON object.")
@SPARK_OPTIONS
@option("--input DIR", "inputs", multiple=True, hidden=True)
@QUIET
@click.argument("folders", metavar="DIR...", type=PATH, nargs=-1, required=False)
def load_command(
    folders: tuple[str, ...],
    inputs: tuple[str, ...],
    output: str | None,
    keys: tuple[tuple[TableName, tuple[str, ...]], ...],
    at: str | None,
    zone: tzinfo,
    status: bool,
    metrics: str | None,
    as_json: bool,
    master: str | None,
    driver_memory: str | None,
    settings: tuple[tuple[str, str], ...],
    quiet: bool,
    **options: Any,
) -> ExitCode:
    """Build tables from data sets of to-parquet with Spark: all changes, and the current rows by key."""
    if status:
        tables = [*folders, *filter(None, [output])]
        if len(tables) != 1:
            raise UsageError("expected one folder of tables with --status")
        found = load_status(tables[0])
        if metrics is not None:
            _write_metrics(metrics, found, None)
        return _show(found, as_json=as_json, quiet=quiet)
    if not (folders or inputs):
        raise UsageError("expected a data set written by to-parquet")
    if output is None:
        raise UsageError("expected --output, the folder of the tables")
    if len(dict(keys)) < len(keys):
        raise UsageError("expected one --key for each table")
    at = None if at is None else moment_in_utc(at, zone)
    begun = time.time()
    try:
        with progress_bar("load", quiet=quiet) as bar:
            summary = run_load(
                LoadOptions((*folders, *inputs), output, keys=dict(keys), at=at, **options),
                master=master,
                memory=driver_memory,
                settings=dict(settings),
                progress=bar.reach,
                stage=bar.stage,
            )
    except BinxError as error:
        if metrics is not None:
            _report(metrics, output, begun, error.exit_code)
        raise
    if metrics is not None:
        _report(metrics, output, begun, summary.exit_code)
    return _show(summary, as_json=as_json, quiet=quiet)


def _report(path: str, output: str, begun: float, code: ExitCode) -> None:
    """Write the metrics of a load that has ended, also one that failed before there were any tables."""
    status = None
    with suppress(AbsentError):
        status = load_status(output)
    ended = time.time()
    _write_metrics(path, status, LoadRun(int(code), round(ended, 3), round(ended - begun, 3)))


def _write_metrics(path: str, status: Status | None, run: LoadRun | None) -> None:
    with open_output(path, binary=False) as file:
        file.write(metrics_text(status, run).encode())


def _show(summary: LoadSummary, *, as_json: bool, quiet: bool) -> ExitCode:
    is_status = isinstance(summary, Status)
    if quiet and not as_json:
        for line in summary.sentences():
            say_warning(line)
    with text_output() as text:
        if as_json:
            text.line(json_line("load_status" if is_status else "load", summary))
        elif not quiet:
            for line in _table(summary, ("current",) if is_status else _FIGURES):
                text.line(line)
            for line in summary.sentences():
                text.line(safe_text(line))
            done = "load {} is committed" if summary.changed else "nothing new; load {} is current"
            done = (f"as of load {summary.load}" if is_status else done).format(summary.load)
            manifests = f"{summary.manifests:,}"
            read = (
                f"{manifests} manifests"
                if is_status
                else f"{summary.new_manifests} of {manifests} manifests new"
            )
            moment = f", as of {summary.at}" if summary.at else ""
            text.line(f"{safe_text(summary.output)}: {done}{safe_text(moment)} ({read})")
            for line in _not_loaded(summary) if isinstance(summary, Status) else ():
                text.line(line)
    return summary.exit_code


def _not_loaded(status: Status) -> Iterator[str]:
    """Yield a line for each data set that has exports which no load has read."""
    for one in status.data_sets:
        if one.error:
            yield safe_text(f"{one.data_set}: whether all of it is loaded is not known: {one.error}")
        elif one.new_manifests:
            newest = "" if one.data_set_until is None else f", up to {time_text(one.data_set_until)}"
            yield safe_text(
                f"{one.data_set}: {one.new_manifests:,} of {one.manifests:,} manifests are not loaded{newest}"
            )


def _table(summary: LoadSummary, figures: tuple[str, ...]) -> list[str]:
    """Return a line for each table; unchanged tables of a database are only in ``--status``."""
    rows = []
    for table in summary.tables:
        counts = [getattr(table, name) for name in figures]
        texts = [UNKNOWN if count is None else f"{count:,}" for count in counts]
        rows.append([safe_text(str(table.name)), *texts, table.completeness])
    head = ["table", *figures, "complete"]
    return aligned_lines([head, *rows], [False, *(True for _ in figures), False]) if rows else []
