"""``binx to-parquet``: row changes as a data set."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from binx.cli.options import (
    COUNT,
    FILES,
    NO_CHECKSUMS,
    OUTPUT,
    QUIET,
    SCHEMA,
    Example,
    Parsed,
    command,
    known_tables,
    option,
    selection_options,
    understood,
)
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.terminal import (
    TextOutput,
    is_terminal,
    missing_gtids,
    say_note,
    say_warning,
    text_output,
)
from binx.errors import ExitCode, UsageError
from binx.event.gtid_set import GtidSet
from binx.export.parquet import ParquetOptions, SourceReport, to_parquet
from binx.log.chain import ends_problems
from binx.log.inputs import open_chain
from binx.log.selection import Selection
from binx.rows.decoder import MEMORY_BYTES, ROW_GROUP_ROWS, DecoderOptions
from binx.rows.types import ArrowOptions
from binx.stats.text import bytes_text, number_text, safe_text

EXAMPLES = (
    Example(
        "all logs of a server; run again, it takes what is new",
        "binx to-parquet mysql-bin.index -o lake",
    ),
    Example(
        "one table, its columns' names from a dump, for servers that do not log them",
        "binx to-parquet --schema schema.sql --table shop.orders mysql-bin.* -o orders",
    ),
    Example("for programs", "binx to-parquet --json --quiet mysql-bin.000003 -o lake | jq .rows"),
)

DETAILS = (
    "The data set has changes/DB/TABLE/*.parquet, a row for each row image; transactions/ and statements/;"
    " schemas/ and _manifest/. A manifest is written last: it is the commit of one log, names every file that"
    " belongs to it, and proves that each row image in the log is either in Parquet or was filtered. What no"
    " manifest lists must not be believed. A log that was written before by the same request is kept.",
    "Columns' names come from the log where the server logs them (binlog_row_metadata=FULL), else from DDL in"
    " the logs and --schema, else they are c1, c2 and so on. Give all logs of a chain at once, so that DDL in"
    " one names the columns in the next.",
    "The exit status is 3 where a manifest lists losses, such as text that its character set does not have.",
)

_MEGABYTE = 1 << 20
_LEAST_MEMORY = 16


def _megabytes(text: str) -> int:
    if not text.isdecimal() or int(text) < _LEAST_MEMORY:
        raise UsageError(f"expected a number of megabytes, at least {_LEAST_MEMORY}, found {text!r}")
    return int(text) * _MEGABYTE


def _folder(text: str) -> Path:
    if "://" in text:
        raise UsageError(f"expected a local folder, found {text!r}; other places are not supported yet")
    return Path(text)


@command("to-parquet", examples=EXAMPLES, details=DETAILS)
@option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=Parsed("folder", _folder),
    section=OUTPUT,
    help="The data set's folder; made where it is not there.",
)
@option(
    "--compression",
    type=click.Choice(["zstd", "snappy", "lz4", "none"]),
    default="zstd",
    show_default=True,
    section=OUTPUT,
    help="Of the Parquet files.",
)
@option(
    "--compression-level",
    metavar="N",
    type=click.IntRange(1, 22),
    section=OUTPUT,
    help="Of zstd.  [default: 1]",
)
@option(
    "--row-group-rows",
    metavar="N",
    type=COUNT,
    default=str(ROW_GROUP_ROWS),
    show_default=True,
    section=OUTPUT,
    help="Rows of a row group, at most.",
)
@option(
    "--memory",
    metavar="MB",
    type=Parsed("megabytes", _megabytes),
    default=str(MEMORY_BYTES // _MEGABYTE),
    show_default=True,
    section=OUTPUT,
    help="What rows may take before they are written.",
)
@option(
    "--unsigned-bigint",
    type=click.Choice(["uint64", "decimal"]),
    default="uint64",
    show_default=True,
    section=OUTPUT,
    help="How BIGINT UNSIGNED is written.",
)
@SCHEMA
@option("--force", is_flag=True, section=OUTPUT, help="Write again what was written before.")
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print one JSON object a log.")
@selection_options
@NO_CHECKSUMS
@QUIET
@FILES
def to_parquet_command(
    output: Path,
    compression: str,
    compression_level: int | None,
    row_group_rows: int,
    memory: int,
    unsigned_bigint: str,
    schema: str | None,
    force: bool,
    as_json: bool,
    selection: Selection,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """Write row changes as a data set of Parquet files, one commit a log."""
    options = ParquetOptions(
        compression=compression,
        compression_level=compression_level,
        decoder=DecoderOptions(row_group_rows, memory, ArrowOptions(unsigned_bigint)),
        verify=not no_checksums,
        force=force,
    )
    catalog, warnings = known_tables(schema)
    if not quiet:
        for line in [*understood(selection), *warnings]:
            say_note(line)
    summary = _Summary(selection, as_json=as_json, quiet=quiet)
    with text_output() as text, progress_bar("to-parquet", quiet=quiet) as bar, open_chain(files) as chain:
        if not quiet:
            for problem in ends_problems(chain):
                say_warning(f"{problem.before}, {problem.after}: {problem.message}")
        logs = [ends.file for ends in chain]
        bar.expect(sum(log.size for log in logs))
        steps = _Steps(bar)
        for report in to_parquet(logs, output, selection, catalog, options, steps.reached):
            steps.next_log()
            summary.take(report, text)
    return summary.exit_code()


class _Steps:
    """Positions in one log after another, as progress through all of them."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._position = 0

    def reached(self, position: int) -> None:
        self._bar.advance(position - self._position)
        self._position = position

    def next_log(self) -> None:
        self._position = 0


class _Summary:
    """What is told of each log, and how the process ends."""

    def __init__(self, selection: Selection, *, as_json: bool, quiet: bool) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._missing = selection.gtids or GtidSet()
        self._losses = 0

    def take(self, report: SourceReport, output: TextOutput) -> None:
        document = _document(report)
        if self._missing:
            self._missing -= GtidSet.parse(report.manifest["gtid_set"])
        if self._as_json:
            output.line(json.dumps(document, ensure_ascii=False))
        elif not self._quiet:
            output.line(_line(document) if is_terminal(sys.stdout) else _plain_line(document))
        output.flush()
        for loss in document["losses"]:
            self._losses += 1
            say_warning(f"{report.path}: {loss}")
        if not self._quiet and not report.kept:
            for warning in document["warnings"]:
                say_note(f"{report.path}: {warning}")

    def exit_code(self) -> ExitCode:
        absent = missing_gtids(self._missing)
        if absent is not ExitCode.DONE:
            return absent
        return ExitCode.LOSSES if self._losses else ExitCode.DONE


def _document(report: SourceReport) -> dict[str, Any]:
    """What became of a log, for programs."""
    entries = report.manifest["files"]
    return {
        "source": report.source,
        "path": report.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        "state": "kept" if report.kept else "written",
        "transactions": report.transactions,
        "rows": report.rows,
        "files": len(entries),
        "bytes": sum(_bytes_of(entries)),
        "gtid_set": report.manifest["gtid_set"],
        "losses": report.manifest["losses"],
        "warnings": report.manifest["warnings"],
    }


def _bytes_of(entries: list[dict[str, Any]]) -> Iterator[int]:
    for entry in entries:
        yield entry.get("bytes", 0)


def _line(document: dict[str, Any]) -> str:
    return (
        f"{safe_text(document['source'])}  {document['state']}"
        f"  {number_text(document['transactions'])} transactions  {number_text(document['rows'])} rows"
        f"  {number_text(document['files'])} files  {bytes_text(document['bytes'])}"
    )


def _plain_line(document: dict[str, Any]) -> str:
    names = ("source", "state", "transactions", "rows", "files", "bytes")
    return "\t".join(safe_text(str(document[name])) for name in names)
