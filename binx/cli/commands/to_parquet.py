"""``binx to-parquet``: row changes as a Parquet data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, option, parsed
from binx.cli.options import (
    COMPRESSION,
    COUNT,
    FILES,
    NO_CHECKSUMS,
    ON_DAMAGE,
    QUIET,
    SCHEMA,
    SPARK,
    SPARK_OPTIONS,
    known_tables,
    schema_dump,
)
from binx.cli.progress import progress_bar
from binx.cli.selecting import WHERE, selection_options, tell_understood
from binx.cli.summary import Summary
from binx.cli.terminal import say_note, say_warning, text_output
from binx.dataset.options import MEMORY_BYTES, ParquetOptions, StatementTexts
from binx.dataset.personal.rules import PersonalData, Rule, parse_rule, personal_data
from binx.errors import ExitCode, UsageError
from binx.log.chain.chain import ends_problems
from binx.log.chain.inputs import open_chain
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.rows.columns.types import ArrowOptions
from binx.rows.decoder import ROW_GROUP_ROWS, DecoderOptions
from binx.spark.session import local_context

if TYPE_CHECKING:
    from binx.dataset.chain import SourceReport
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


@command("to-parquet", examples=EXAMPLES)
@option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=PATH,
    help="Folder of the data set (created if missing), or a URI such as s3://bucket/lake.",
)
@COMPRESSION
@option(
    "--compression-level",
    metavar="N",
    type=click.IntRange(1, _HIGHEST_LEVEL),
    help="zstd level, 1 to 22.  [default: 1]",
)
@option("--row-group-rows", type=COUNT, help="Maximum number of rows in a row group.  [default: 131072]")
@option(
    "--memory",
    metavar="MB",
    type=click.IntRange(_LEAST_MEMORY, _MOST_MEMORY),
    help="Memory for rows before they are written, for each job.  [default: 64]",
)
@option(
    "--jobs",
    type=COUNT,
    help="Number of logs to decode at a time; with 1, only one processor is used. The files are the same."
    " Each log needs its own memory.  [default: 2]",
)
@option(
    "--unsigned-bigint",
    type=click.Choice(["uint64", "decimal"]),
    default="uint64",
    show_default=True,
    help="Parquet type for BIGINT UNSIGNED.",
)
@option(
    "--drop-columns",
    "dropped",
    metavar="DB.TABLE.COLUMN[:PATH]",
    multiple=True,
    type=parsed(parse_rule),
    help="Leave out personal data: a column or a part of its documents; * and ? match. May be repeated.",
)
@option(
    "--hash-columns",
    "hashed",
    metavar="DB.TABLE.COLUMN[:PATH]",
    multiple=True,
    type=parsed(parse_rule),
    help="Write HMAC-SHA-256 hashes instead of values. May be repeated.",
)
@option(
    "--statements",
    type=click.Choice([*(one.value for one in StatementTexts)]),
    default=StatementTexts.NONE.value,
    show_default=True,
    help="Of the statements that rows were logged with, if the server logs them: keep nothing, the digest, or"
    " the text, which has values of rows.",
)
@option("--hash-key", metavar="FILE", type=PATH, help="File with the secret key of the hashes.")
@SCHEMA
@option(
    "--engine",
    type=click.Choice(["native", "spark"]),
    default="native",
    show_default=True,
    section=SPARK,
    help="Decode on this machine, or on Spark executors, one task per log.",
)
@SPARK_OPTIONS
@option(
    "--forget",
    is_flag=True,
    help="Remove logs from the data set, loaded or not: FILE is a log's name, such as mysql-bin.000001.",
)
@option(
    "--views",
    is_flag=True,
    help="Also write views.sql for DuckDB and views.spark.sql: the changes of each table across its ALTERs.",
)
@option("--force", is_flag=True, help="Rewrite logs that were already exported.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object per log.")
@selection_options
@WHERE
@ON_DAMAGE
@NO_CHECKSUMS
@QUIET
@FILES
def to_parquet_command(
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
    schema: str | None,
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
    on_damage: str,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """Export row changes to a data set of Parquet files, one commit per log."""
    from binx.dataset.chain import find_beginning

    if forget:
        return _forget(output, files, quiet=quiet)
    spark = {"--master": master, "--driver-memory": driver_memory, "--conf": settings}
    for name, value in spark.items():
        if value and engine != "spark":
            raise UsageError(f"{name} applies only to --engine spark")
    if compression_level is not None and compression != "zstd":
        raise UsageError(f"--compression-level applies only to --compression zstd, not {compression}")
    personal = personal_data(dropped, hashed, hash_key)
    if where is not None and personal is not None and personal.is_asked(where.columns):
        raise UsageError("--where names a column with personal data, and would be written to the manifest")
    damage = OnDamage(on_damage)
    dump = schema_dump(schema)
    tell_understood(selection, dump, quiet=quiet)
    summary = Summary(as_json=as_json, quiet=quiet)
    with (
        text_output(plain=as_json) as text,
        progress_bar("to-parquet", quiet=quiet) as bar,
        open_chain(files, on_damage=damage) as chain,
    ):
        if not quiet:
            for problem in ends_problems(chain):
                say_warning(f"{problem.before}, {problem.after}: {problem.message}")
        logs = [ends.file for ends in chain]
        bar.expect(sum(log.size for log in logs))
        # What the rows decide comes before the limit.
        wanted = selection if where is None else selection._replace(limit=None)
        selector = Selector(wanted, [log.name for log in logs], in_parts=True)
        catalog, state, behind = find_beginning(output, logs, known_tables(dump, chain), personal)
        if behind is not None and catalog and not quiet:
            say_note(f"continuing with the table definitions after {behind}, from the data set")
        options = _options(
            compression,
            compression_level,
            row_group_rows,
            memory,
            unsigned_bigint,
            jobs=jobs,
            verify=not no_checksums,
            force=force,
            on_damage=damage,
            where=where,
            where_limit=None if where is None else selection.limit,
            statements=StatementTexts(statements),
            personal=personal,
        )
        with _engine(engine, master, driver_memory, dict(settings)) as export:
            for report in export(logs, output, selector, catalog, options, bar.reach, state):
                summary.take(report, text)
        if views:
            from binx.spark.lake.reading import write_changes_views

            write_changes_views(output)
        for note in [] if quiet else selector.notes:
            say_note(note)
    return summary.exit_code(selector.missing())


def _forget(output: str, logs: tuple[str, ...], *, quiet: bool) -> ExitCode:
    """Remove logs from a data set."""
    from binx.dataset.dataset import DataSet

    dataset = DataSet(output)
    with dataset.locked(), text_output() as text:
        for log in logs:
            for source in dataset.forget(log):
                if not quiet:
                    text.line(f"{source}\tforgotten")
    return ExitCode.DONE


@contextmanager
def _engine(
    name: str, master: str | None, driver_memory: str | None, settings: Mapping[str, str]
) -> Iterator[Callable[..., Iterator[SourceReport]]]:
    """What exports: a function as ``to_parquet`` is, and what it needs to run."""
    if name == "native":
        from binx.dataset.parquet import to_parquet

        yield to_parquet
        return
    from binx.spark.export import to_parquet_on_spark

    with local_context(master=master, memory=driver_memory, settings=settings) as spark:
        yield partial(to_parquet_on_spark, spark)


def _options(
    compression: str,
    compression_level: int | None,
    row_group_rows: int | None,
    memory: int | None,
    unsigned_bigint: str,
    *,
    jobs: int | None,
    verify: bool,
    force: bool,
    on_damage: OnDamage,
    where: Condition | None,
    where_limit: int | None,
    personal: PersonalData | None,
    statements: StatementTexts,
) -> ParquetOptions:
    """What the exports take; Arrow is loaded only here, so that help comes at once."""
    return ParquetOptions(
        compression=compression,
        compression_level=compression_level,
        decoder=DecoderOptions(
            row_group_rows or ROW_GROUP_ROWS,
            memory * _MEGABYTE if memory else MEMORY_BYTES,
            ArrowOptions(unsigned_as_decimal=unsigned_bigint == "decimal"),
        ),
        verify=verify,
        force=force,
        jobs=jobs,
        on_damage=on_damage,
        where=where,
        where_limit=where_limit,
        personal=personal,
        statements=statements,
    )
