"""``binx to-parquet``: export row changes to a Parquet data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from binx.cli.command import COUNT, Example, command, flag, option
from binx.cli.export_summary import Summary
from binx.cli.options import (
    COMPRESSION,
    DATA_SET,
    SPARK,
    SPARK_OPTIONS,
    UNSIGNED_BIGINT,
    Logs,
    as_json_option,
    log_options,
)
from binx.cli.personal_options import PERSONAL_OPTIONS
from binx.cli.selecting import WHERE, selection_options
from binx.cli.terminal import say_losses, text_output
from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.personal.rules import Rule, personal_data
from binx.errors import ExitCode, UsageError
from binx.log.selection.selection import Selection, Selector
from binx.rows.columns.types import ArrowOptions
from binx.rows.decoder import MEMORY_BYTES, ROW_GROUP_ROWS, DecoderOptions

if TYPE_CHECKING:
    from binx.dataset.predecessors import SourceReport
    from binx.where.condition import Condition

EXAMPLES = (
    Example("all logs of a server; later runs add new logs", "binx to-parquet mysql-bin.index -o lake"),
    Example(
        "one table, with column names from a dump, if the server does not log them",
        "binx to-parquet --schema schema.sql --table shop.orders mysql-bin.* -o orders",
    ),
    Example(
        "only changes of rows that match a condition",
        "binx to-parquet --table shop.orders --where \"status = 'paid'\" mysql-bin.* -o paid",
    ),
    Example(
        "many logs with Spark, locally or with --master on a cluster",
        "binx to-parquet --engine spark mysql-bin.index -o decoded",
    ),
    Example("for programs", "binx to-parquet --json --quiet mysql-bin.000003 -o lake | jq .rows"),
)

_MEGABYTE = 1 << 20
_LEAST_MEMORY = 16
_MOST_MEMORY = 1 << 40
_HIGHEST_LEVEL = 22


@command(
    "to-parquet",
    examples=EXAMPLES,
    brief="output schema table db since until gtid"
    " where jobs memory drop-columns hash-columns views statements engine",
)
@DATA_SET
@COMPRESSION
@option(
    "--compression-level N", type=click.IntRange(1, _HIGHEST_LEVEL), help="zstd level, 1 to 22.  [default: 1]"
)
@option("--row-group-rows", type=COUNT, help="Maximum number of rows in a row group.  [default: 131072]")
@option(
    "--memory MB",
    type=click.IntRange(_LEAST_MEMORY, _MOST_MEMORY),
    help="Memory for rows before they are written, for each log at a time.  [default: 40]",
)
@option(
    "--jobs",
    type=COUNT,
    help="Number of threads: two for a log, so that 4 take two logs at a time, which need twice the memory."
    " The files are the same.  [default: 2, or 1 below 2 GiB of ulimit -v]",
)
@UNSIGNED_BIGINT
@PERSONAL_OPTIONS
@option(
    "--statements",
    type=click.Choice([*(choice.value for choice in StatementTexts)]),
    default=StatementTexts.NONE.value,
    help="Of the statements that rows were logged with, if the server logs them: keep nothing, the digest, or"
    " the text, which has values of rows.",
)
@option(
    "--engine",
    type=click.Choice(["native", "spark"]),
    default="native",
    section=SPARK,
    help="Decode on this machine, or on Spark executors, one task per log.",
)
@SPARK_OPTIONS
@flag(
    "--forget",
    "Remove logs from the data set, loaded or not: FILE is a log's name, such as mysql-bin.000001.",
)
@flag(
    "--views",
    "Also write views.sql for DuckDB and views.spark.sql: the changes of each table across its ALTERs.",
)
@flag("--force", "Rewrite logs that were already exported.")
@as_json_option("Print one JSON object per log.")
@selection_options
@WHERE
@log_options(schema=True)
def to_parquet_command(
    logs: Logs,
    output: str,
    compression: str,
    compression_level: int | None,
    row_group_rows: int | None,
    memory: int | None,
    jobs: int | None,
    unsigned_bigint: str,
    dropped: tuple[Rule, ...],
    hashed: tuple[Rule, ...],
    statements: str,
    hash_key: str | None,
    allow_unmatched_rules: bool,
    engine: str,
    master: str | None,
    driver_memory: str | None,
    settings: tuple[tuple[str, str], ...],
    forget: bool,
    views: bool,
    force: bool,
    as_json: bool,
    selection: Selection,
    where: Condition | None,
) -> ExitCode:
    """Export row changes to a data set of Parquet files, one commit per log."""
    from binx.dataset.continuation import find_beginning
    from binx.dataset.dataset import DataSet
    from binx.dataset.personal.unmatched_rules import unmatched

    if forget:
        return _forget(output, logs)
    for name, value in (("master", master), ("driver-memory", driver_memory), ("conf", settings)):
        if value and engine != "spark":
            raise UsageError(f"--{name} applies only to --engine spark")
    if compression_level is not None and compression != "zstd":
        raise UsageError(f"--compression-level applies only to --compression zstd, not {compression}")
    personal = personal_data(dropped, hashed, hash_key)
    if where is not None and personal is not None and personal.may_be_personal(where.columns):
        raise UsageError("--where names a column with personal data, and would be written to the manifest")
    if selection.texts and personal is not None:
        raise UsageError("--grep cannot be used with rules about personal data: the manifest would have it")
    options = ParquetOptions(
        compression=compression,
        compression_level=compression_level,
        decoder=DecoderOptions(
            row_group_rows or ROW_GROUP_ROWS,
            memory * _MEGABYTE if memory else MEMORY_BYTES,
            ArrowOptions(unsigned_as_decimal=unsigned_bigint == "decimal"),
        ),
        verify=logs.verify,
        force=force,
        jobs=jobs,
        on_damage=logs.on_damage,
        where=where,
        where_limit=None if where is None else selection.limit,
        personal=personal,
        allows_unmatched_rules=allow_unmatched_rules,
        statements=StatementTexts(statements),
    )
    summary = Summary(as_json=as_json, quiet=logs.quiet)
    with (
        text_output(plain=as_json) as text,
        logs.opened("to-parquet", selection, watched=False) as (chain, bar),
    ):
        files = [ends.file for ends in chain]
        # A condition on rows is applied before the limit.
        unlimited = selection if where is None else selection._replace(limit=None)
        selector = Selector(unlimited, [file.name for file in files], in_parts=True)
        catalog, state, previous = find_beginning(output, files, logs.known_tables(chain), personal)
        if previous is not None and catalog:
            logs.notes([f"continuing with the table definitions after {previous}, from the data set"])
        with _engine(engine, master, driver_memory, dict(settings)) as export:
            for report in export(files, output, selector, catalog, options, bar.reach, state):
                summary.take(report, text)
        if views:
            from binx.lake.table_changes import write_changes_views

            write_changes_views(output)
        logs.notes(selector.notes)
        # Said also if quiet.
        has_unmatched = say_losses(unmatched(DataSet(output), selection, options))
    return logs.ending(selector.missing(), losses=summary.has_losses or has_unmatched)


def _forget(output: str, logs: Logs) -> ExitCode:
    """Remove logs from a data set."""
    from binx.dataset.dataset import DataSet

    dataset = DataSet(output)
    with dataset.locked(), text_output() as text:
        for log in logs.paths:
            for source in dataset.forget(log):
                if not logs.quiet:
                    text.line(f"{source}\tforgotten")
    return ExitCode.DONE


@contextmanager
def _engine(
    name: str, master: str | None, driver_memory: str | None, settings: dict[str, str]
) -> Iterator[Callable[..., Iterator[SourceReport]]]:
    """Return the export function, as ``to_parquet``, with the resources that it needs."""
    if name == "native":
        from binx.dataset.parquet import to_parquet

        yield to_parquet
        return
    from binx.spark.export import to_parquet_on_spark
    from binx.spark.session import local_session

    with local_session(master=master, memory=driver_memory, settings=settings) as spark:
        yield partial(to_parquet_on_spark, spark)
