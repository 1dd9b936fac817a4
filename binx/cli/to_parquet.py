"""``binx to-parquet``: row changes as a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from binx.cli.declaration import OUTPUT, Choice, Example, FilePath, Parsed, command, option
from binx.cli.options import (
    COMPRESSION,
    COUNT,
    FILES,
    NO_CHECKSUMS,
    ON_DAMAGE,
    QUIET,
    SCHEMA,
    known_tables,
    whole_number,
)
from binx.cli.progress import progress_bar
from binx.cli.selecting import WHERE, selection_options, understood
from binx.cli.spark_options import SPARK, SPARK_OPTIONS, allow_numpy
from binx.cli.summary import Summary
from binx.cli.terminal import say_note, say_warning, text_output
from binx.errors import UsageError
from binx.log.chain import ends_problems
from binx.log.inputs import open_chain
from binx.log.on_damage import OnDamage
from binx.log.selection import Selection, Selector

if TYPE_CHECKING:
    from binx.export.look_ahead import LookAhead
    from binx.export.parquet_files import ParquetOptions
    from binx.export.staging import ChainState, SourceReport
    from binx.export.where import Condition
    from binx.log.file import BinlogFile
    from binx.rows.catalog import Catalog

EXAMPLES = (
    Example(
        "all logs of a server; run again, it takes what is new",
        "binx to-parquet mysql-bin.index -o lake",
    ),
    Example(
        "one table, its columns' names from a dump, for servers that do not log them",
        "binx to-parquet --schema schema.sql --table shop.orders mysql-bin.* -o orders",
    ),
    Example(
        "the changes of rows that fulfil a condition before or after",
        "binx to-parquet --table shop.orders --where \"status = 'paid'\" mysql-bin.* -o paid",
    ),
    Example(
        "many logs, by Spark's executors; with --master by those of a cluster",
        "binx to-parquet --engine spark mysql-bin.index -o decoded",
    ),
    Example("for programs", "binx to-parquet --json --quiet mysql-bin.000003 -o lake | jq .rows"),
)

DETAILS = (
    "The data set has changes/DB/TABLE/*.parquet, a row for each row image; transactions/ and statements/;"
    " schemas/ and _manifest/. A manifest is written last: it is the commit of one log, names every file that"
    " belongs to it, and proves that each row image in the log is either in Parquet or was filtered. What no"
    " manifest lists must not be believed. A log that was written before by the same request is kept; by"
    " another one, as with other tables, it is written anew, and what was there of it goes: give each"
    " selection a folder of its own.",
    "Columns' names come from the log where the server logs them (binlog_row_metadata=FULL), else from DDL in"
    " the logs and --schema, else they are c1, c2 and so on. The data set keeps what is known at the end of"
    " each log: an export goes on from the log right before its first one, if that is there, so that logs can"
    " be given one by one, and the server may remove older ones. Behind a gap nothing is taken over: export"
    " what is between first, or give --schema with the tables as they were there. --schema takes the place of"
    " what the data set knows.",
    "With --where only the row changes are written whose image before or after fulfils the condition, and the"
    " transactions that have some; the manifest counts all others as filtered. See binx-extract(1).",
    "A log that is damaged is not committed. With --on-damage salvage its whole transactions are, the"
    " manifest lists what was passed over, and the conservation sums count what could not be decoded.",
    "DIR may be a URI such as s3://bucket/lake. The files of a log are then written below TMPDIR, and put"
    " when it is decoded, the manifest last. Keys come from the environment or a profile, never from the"
    " URI.",
    "With --engine spark executors decode, a task a log; the files are the same, and what tasks write that"
    " fail or run twice is never committed. The logs and DIR, a folder or a URI, must be at the same place on"
    " all machines, and binx and pyarrow there in the same versions, which is checked first. Where to stop"
    " (--limit) among rows that are chosen (--where) is for the native engine.",
    "The exit status is 3 where a manifest lists losses, such as damage, or text that its character set does"
    " not have.",
)

_MEGABYTE = 1 << 20
_LEAST_MEMORY = 16
_MOST_MEMORY = 1 << 40
_HIGHEST_LEVEL = 22


def _megabytes(text: str) -> int:
    number = whole_number(text)
    if number < _LEAST_MEMORY:
        raise UsageError(f"expected a number of megabytes, at least {_LEAST_MEMORY}, found {text!r}")
    if number > _MOST_MEMORY:
        raise UsageError(f"expected as many megabytes as a machine can have, found {text!r}")
    return number * _MEGABYTE


def _level(text: str) -> int:
    level = whole_number(text)
    if not 1 <= level <= _HIGHEST_LEVEL:
        raise UsageError(f"expected a level from 1 to {_HIGHEST_LEVEL}, found {text!r}")
    return level


@command("to-parquet", examples=EXAMPLES, details=DETAILS)
@option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    value=FilePath(),
    section=OUTPUT,
    help="The data set's folder, made where it is not there; or a URI such as s3://bucket/lake.",
)
@COMPRESSION
@option(
    "--compression-level",
    metavar="N",
    value=Parsed("level", _level),
    section=OUTPUT,
    help="Of zstd, 1 to 22.  [default: 1]",
)
@option(
    "--row-group-rows",
    metavar="N",
    value=COUNT,
    section=OUTPUT,
    help="Rows of a row group, at most.  [default: 131072]",
)
@option(
    "--memory",
    metavar="MB",
    value=Parsed("megabytes", _megabytes),
    section=OUTPUT,
    help="What rows may take before they are written; each of --jobs has as much.  [default: 32]",
)
@option(
    "--jobs",
    metavar="N",
    value=COUNT,
    section=OUTPUT,
    help="Processors to use; for large logs each takes memory of its own. The files are the same."
    "  [default: all, but 2 for large logs]",
)
@option(
    "--unsigned-bigint",
    value=Choice("uint64", "decimal"),
    default="uint64",
    show_default=True,
    section=OUTPUT,
    help="How BIGINT UNSIGNED is written.",
)
@SCHEMA
@option(
    "--engine",
    value=Choice("native", "spark"),
    default="native",
    show_default=True,
    section=SPARK,
    help="What decodes: this process, or Spark's executors, a task a log.",
)
@SPARK_OPTIONS
@option("--force", is_flag=True, section=OUTPUT, help="Write again what was written before.")
@option("--json", name="as_json", is_flag=True, section=OUTPUT, help="One JSON object a log.")
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
    schema: str | None,
    engine: str,
    master: str | None,
    driver_memory: str | None,
    settings: tuple[tuple[str, str], ...],
    force: bool,
    as_json: bool,
    selection: Selection,
    where: Condition | None,
    on_damage: str,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """Write row changes as a data set of Parquet files, one commit a log."""
    spark = {"--master": master, "--driver-memory": driver_memory, "--conf": settings}
    if engine == "spark":
        allow_numpy()
    for name, value in spark.items():
        if value and engine != "spark":
            raise UsageError(f"{name} is about --engine spark")
    if compression_level is not None and compression != "zstd":
        raise UsageError(f"--compression-level is about --compression zstd, not {compression}")
    damage = OnDamage(on_damage)
    catalog, warnings = known_tables(schema)
    if not quiet:
        for line in [*understood(selection), *warnings]:
            say_note(line)
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
        # It begins before Arrow is loaded, which takes its time.
        catalog, state = _place(output, logs, catalog, quiet=quiet)
        with _ahead(engine, logs, wanted, catalog, jobs, damage, where, state) as ahead:
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
            )
            with _engine(engine, master, driver_memory, dict(settings), ahead) as export:
                for report in export(logs, output, selector, catalog, options, bar.reach, state):
                    summary.take(report, text)
        for note in [] if quiet else selector.notes:
            say_note(note)
    return summary.exit_code(selector.missing())


def _ahead(
    engine: str,
    logs: Sequence[BinlogFile],
    selection: Selection,
    catalog: Catalog | None,
    jobs: int | None,
    on_damage: OnDamage,
    where: Condition | None,
    state: ChainState,
) -> AbstractContextManager[LookAhead | None]:
    """What looks ahead of processes that decode the logs; None where that is not wanted."""
    if engine != "native":
        return nullcontext()
    from binx.export.look_ahead import begin_to_look_ahead

    ahead = begin_to_look_ahead(
        logs,
        selection,
        catalog,
        jobs=jobs,
        on_damage=on_damage,
        where=where,
        epoch=state.epoch,
        seqno=state.seqno,
    )
    return nullcontext() if ahead is None else ahead


def _place(
    output: str, logs: Sequence[BinlogFile], catalog: Catalog | None, *, quiet: bool
) -> tuple[Catalog | None, ChainState]:
    """The tables known before the logs, and where in the chain they stand, as the data set tells it."""
    from binx.export.continuing import find_behind
    from binx.export.staging import ChainState
    from binx.export.store import open_store

    behind = find_behind(open_store(output), logs[0]) if catalog is None and logs else None
    if behind is None:
        return catalog, ChainState()
    if len(behind.catalog) and not quiet:
        say_note(f"tables are known as they were behind {behind.log}, which the data set has")
    return behind.catalog, ChainState(behind.epoch, behind.seqno)


@contextmanager
def _engine(
    name: str,
    master: str | None,
    driver_memory: str | None,
    settings: Mapping[str, str],
    ahead: LookAhead | None,
) -> Iterator[Callable[..., Iterator[SourceReport]]]:
    """What exports: a function as ``to_parquet`` is, and what it needs to run."""
    if name == "native":
        from binx.export.parquet import to_parquet
        from binx.kernels.memory import keep_freed

        keep_freed()
        yield partial(to_parquet, ahead=ahead)
        return
    from binx.spark.export import to_parquet_on_spark
    from binx.spark.session import local_context

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
) -> ParquetOptions:
    """What the exports take; Arrow is loaded only here, so that help comes at once."""
    from binx.export.parquet_files import MEMORY_BYTES, ParquetOptions
    from binx.rows.decoder import ROW_GROUP_ROWS, DecoderOptions
    from binx.rows.types import ArrowOptions

    return ParquetOptions(
        compression=compression,
        compression_level=compression_level,
        decoder=DecoderOptions(
            row_group_rows or ROW_GROUP_ROWS,
            memory or MEMORY_BYTES,
            ArrowOptions(unsigned_as_decimal=unsigned_bigint == "decimal"),
        ),
        verify=verify,
        force=force,
        jobs=jobs,
        on_damage=on_damage,
        where=where,
        where_limit=where_limit,
    )
