"""Options shared by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from binx.cli.command import OTHER, PATH, combined, flag, offered, option, parsed
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.terminal import LAYOUT, NO_PAGER, ending, say_note, say_warning
from binx.errors import BinxError, ExitCode, UsageError
from binx.log.binlog_file import FORMAT_FROM, BinlogFile, set_step_listener
from binx.log.chain.chain import absent_positions, chain_problems
from binx.log.chain.inputs import copy_note, open_chain
from binx.log.index.lookup import IndexUse
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.log.selection.times import parse_zone, zone_names
from binx.log.succession import ChainProblem

if TYPE_CHECKING:
    from binx.event.gtid.sets import GtidSet
    from binx.log.chain.chain import ChainLog
    from binx.rows.ddl.catalog import Catalog
    from binx.rows.ddl.schema_dump import SchemaDump

SPARK = "Spark"


_ENDINGS = {
    ".txt": "table",
    ".tsv": "table",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".sql": "sql",
    ".thl": "thl",
}
"""Formats by the ending of an output."""


def format_of(output: str, formats: Collection[str], default: str, *, ends_in_any_way: bool = False) -> str:
    """Return the format that the ending of an output says.

    Args:
        formats: those that the command writes.
        default: of names and pipes without an ending.
        ends_in_any_way: whether outputs of the default format may have any other ending.

    Raises:
        UsageError: it says none of them.
    """
    ending = PurePath(output).suffix
    form = _ENDINGS.get(ending.lower(), "")
    if form in formats:
        return form
    if ending and not ends_in_any_way:
        known = ", ".join(known for known, form in _ENDINGS.items() if form in formats)
        raise UsageError(
            f"expected an --output that ends in one of {known}, found {ending}; or choose its --format"
        )
    return default


def _to_environment(variable: str) -> Callable[..., None]:
    """Return a callback that sets a variable, so that subprocesses see the option too."""

    def callback(_: click.Context, __: click.Parameter, value: str | tuple[str, ...] | None) -> None:
        paths = (value,) if isinstance(value, str) else value
        if paths:
            os.environ[variable] = os.pathsep.join(map(os.path.abspath, paths))

    return callback


def _path_variable(
    name: str, variable: str, help_text: str, *, multiple: bool = False
) -> Callable[[Any], Any]:
    return option(
        name,
        type=PATH,
        multiple=multiple,
        expose_value=False,
        callback=_to_environment(variable),
        help=help_text,
        section=OTHER,
    )


KEYS = combined(
    _path_variable(
        "--keyring",
        "BINX_KEYRING",
        "Keyring file of the server, for encrypted logs; may be repeated.",
        multiple=True,
    ),
    _path_variable(
        "--key-file",
        "BINX_KEY_FILE",
        "File with one key (32 bytes or 64 hex digits), for encrypted logs.",
    ),
    _path_variable(
        "--identity",
        "BINX_IDENTITY",
        "File of age identities (from age-keygen), for age-encrypted files; may be repeated.",
        multiple=True,
    ),
)
"""The keys of encrypted logs and files."""


def _report_steps(_: click.Context, __: click.Parameter, is_wanted: bool) -> None:
    set_step_listener(say_note if is_wanted else None)


_VERBOSE = option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_report_steps,
    help="Report what is done with each file, and why.",
    section=OTHER,
)
FILES = combined(
    click.argument("files", metavar="FILE...", type=PATH, nargs=-1, required=True), _VERBOSE, KEYS
)
"""The input files, whether to report on them, and the keys of encrypted ones."""

_TWO_SIDES = combined(
    click.argument("left", metavar="A", type=PATH),
    click.argument("right", metavar="B", type=PATH),
    _VERBOSE,
    KEYS,
)

QUIET = option("-q", "--quiet", is_flag=True, help="Print only data and errors.", section=OTHER)
NO_CHECKSUMS = flag("--no-checksums", "Do not verify event checksums.", section=OTHER)
_FORMAT_HELP = "read logs whose first event is damaged with the first event of this log."
FORMAT_OF = _path_variable("--format-from", FORMAT_FROM, _FORMAT_HELP.capitalize())
_ON_DAMAGE = combined(
    option(
        "--on-damage",
        type=click.Choice([choice.value for choice in OnDamage]),
        default="stop",
        help="On damage: stop, or go on after it and list what could not be read.",
        section=OTHER,
    ),
    _path_variable("--format-from", FORMAT_FROM, f"With --on-damage salvage: {_FORMAT_HELP}"),
)
_SCHEMA = option(
    "--schema FILE[@WHEN]",
    type=PATH,
    help="Table definitions, as written by mysqldump --no-data, as of WHEN: the start or end of the logs, a"
    " GTID or a time; by default as its comments say (--source-data, GTID_PURGED). DDL in the logs goes on"
    " from there. For rows before it, a table is known only if no DDL in between changed it.",
)
_INDEX = combined(
    flag("--no-index", "Ignore index files and read the logs.", section=OTHER),
    option(
        "--index-dir DIR",
        type=PATH,
        help="Folder of the index files.  [default: next to the logs]",
        section=OTHER,
    ),
)


@dataclass
class Logs:
    """The logs of a command line, and how to read them.

    Attributes:
        schema: a file of table definitions.
        lacks_log: whether a log, or the end of one, is missing that may have selected transactions.
    """

    paths: tuple[str, ...]
    quiet: bool
    verify: bool
    on_damage: OnDamage
    index: IndexUse | None
    schema: str | None
    lacks_log: bool = False

    @cached_property
    def _dump(self) -> SchemaDump | None:
        if self.schema is None:
            return None
        from binx.rows.ddl.schema_dump import read_dump

        return read_dump(self.schema)

    @contextmanager
    def opened(
        self,
        label: str,
        selection: Selection | None = None,
        *,
        warns: bool = True,
        watched: bool = True,
        paths: Sequence[str] | None = None,
    ) -> Iterator[tuple[list[ChainLog], ProgressBar]]:
        """Open the logs as a chain, with a progress bar while they are read.

        Args:
            selection: its times and the table definitions are reported first.
            warns: whether to warn of gaps between the logs.
            watched: whether the bar follows the reading of the logs; not if the work itself advances it.
        """
        if selection is not None:
            self.say_understood(selection)
        with (
            progress_bar(label, quiet=self.quiet) as bar,
            open_chain(
                self.paths if paths is None else paths,
                bar.advance if watched else None,
                self.index,
                self.on_damage,
            ) as chain,
        ):
            bar.expect(sum(ends.file.size for ends in chain))
            self.note_copies([ends.file for ends in chain])
            if warns:
                self.check_links(chain, selection or Selection())
            yield chain, bar

    def note_copies(self, files: Sequence[BinlogFile]) -> None:
        """Print which logs are left out, as others have all of them."""
        for file in files:
            self.notes([copy_note(file, path) for path in file.copies])

    def check_links(
        self, chain: Sequence[ChainLog], selection: Selection, *, warns: bool = True
    ) -> list[ChainProblem]:
        """Return the problems between logs, warn of them, and note whether transactions are missing."""
        for sentence in absent_positions(chain, selection.start, selection.stop):
            self.lacks_log = True
            say_warning(sentence)
        # Requested GTIDs that are missing are reported separately.
        by_gtid = selection.gtids is not None
        problems = [] if by_gtid and warns else chain_problems(chain)
        for problem in problems:
            self.lacks_log |= not by_gtid and problem.lacks_transactions(selection.since, selection.until)
            if warns and (problem.lacks_transactions() or not self.quiet):
                say_warning(problem.sentence)
        return problems

    def ending(self, missing: GtidSet | str, *, losses: bool = False) -> ExitCode:
        """Print the requested GTIDs that were not found, and return the exit code."""
        code = ending(missing, losses=losses)
        return ExitCode.ABSENT if self.lacks_log else code

    def say_understood(self, selection: Selection) -> None:
        """Print how the times of a selection were interpreted, and what is unclear about a dump."""
        self.notes([*filter(None, [selection.times_text]), *(self._dump.unclear if self._dump else ())])

    def known_tables(self, chain: Sequence[ChainLog]) -> Catalog | None:
        """Return the tables that the dump defines for these logs."""
        return None if self._dump is None else self._dump.known_in([ends.file for ends in chain])

    def notes(self, notes: Sequence[str]) -> None:
        """Print notes, unless quiet."""
        for note in () if self.quiet else notes:
            say_note(note)


def log_options(
    *, index: bool = False, schema: bool = False, damage: bool = True, sides: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options about input logs; the function gets them as a single ``logs``.

    Args:
        sides: whether the arguments are two sides, each a log or a folder of logs.
    """
    options = [
        *([_SCHEMA] if schema else []),
        *([NO_CHECKSUMS, _ON_DAMAGE] if damage else []),
        *([_INDEX] if index else []),
        QUIET,
        _TWO_SIDES if sides else FILES,
    ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_logs(
            quiet: bool,
            files: tuple[str, ...] = (),
            left: str = "",
            right: str = "",
            no_checksums: bool = False,
            on_damage: str = "stop",
            no_index: bool = True,
            index_dir: str | None = None,
            schema: str | None = None,
            **values: Any,
        ) -> Any:
            use = None if no_index else IndexUse(index_dir, None if quiet else _warn)
            paths = files or (left, right)
            logs = Logs(paths, quiet, not no_checksums, OnDamage(on_damage), use, schema)
            return function(logs=logs, **values)

        decorated: Callable[..., Any] = combined(*options)(with_logs)
        return decorated

    return decorate


def _warn(error: BinxError) -> None:
    say_warning(str(error))


ZONE, ZONE_OF_MOMENT = (
    option(
        "--tz ZONE",
        "zone",
        type=parsed(parse_zone),
        shell_complete=offered(zone_names),
        default="UTC",
        help=f"Time zone {use}: Europe/Berlin, +02:00, local.",
    )
    for use in ("for displayed times", "of a time given to --at")
)
COMPRESSION = option(
    "--compression",
    type=click.Choice(["zstd", "snappy", "lz4", "none"]),
    default="zstd",
    help="Compression of the Parquet files.",
)
DATA_SET = option(
    "-o",
    "--output DIR",
    required=True,
    type=PATH,
    help="Folder of the data set (created if missing), or a URI such as s3://bucket/lake.",
)
UNSIGNED_BIGINT = option(
    "--unsigned-bigint",
    type=click.Choice(["uint64", "decimal"]),
    default="uint64",
    help="Parquet type for BIGINT UNSIGNED.",
)


def as_json_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option for JSON output."""

    def callback(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
        if value:
            ctx.meta[NO_PAGER] = True
        return value

    return option("--json", "as_json", is_flag=True, callback=callback, help=help_text)


def _layout(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.meta[LAYOUT] = value


def _pager(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[NO_PAGER] = value or ctx.meta.get(NO_PAGER, False)


LOOK = combined(
    option(
        "--layout",
        type=click.Choice(["screen", "text"]),
        expose_value=False,
        callback=_layout,
        help="As on a terminal, or as in a pipe.  [default: by what standard output is]",
    ),
    option(
        "--no-pager",
        is_flag=True,
        expose_value=False,
        callback=_pager,
        help="Do not use a pager for long output on a terminal.",
    ),
)
"""Options about the output's layout, for people and for programs that read text."""

CHANGED_ONLY = flag("--changed-only", "Of updated rows, show only the key and the columns that changed.")
CREATE_TABLE = flag(
    "--create-table", "Also show what the table was at that moment: its CREATE TABLE, from the logs' DDL."
)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"expected NAME=VALUE, found {text!r}")
    return name, value


SPARK_OPTIONS = combined(
    option("--master URL", section=SPARK, help="Spark master URL.  [default: all cores of this machine]"),
    option("--driver-memory SIZE", section=SPARK, help="Memory of the Spark driver, such as 4g."),
    option(
        "--conf NAME=VALUE",
        "settings",
        multiple=True,
        type=parsed(_setting),
        section=SPARK,
        help="Any Spark setting; may be repeated.",
    ),
)
"""Where and how Spark runs: ``master``, ``driver_memory`` and ``settings``."""
