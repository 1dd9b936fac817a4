"""Options that commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from binx.cli.command import OTHER, PATH, combined, option, parsed
from binx.cli.pager import NO_PAGER
from binx.cli.terminal import LAYOUT, say_note, say_warning
from binx.errors import BinxError, UsageError
from binx.log.file import FORMAT_FROM, listen
from binx.log.index.lookup import IndexUse
from binx.log.selection.moments import parse_size, parse_zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binx.log.chain.ends import FileEnds
    from binx.rows.ddl.catalog import Catalog
    from binx.rows.ddl.schema_dump import SchemaDump

SPARK = "Spark"


class _Number(click.IntRange):
    """A whole number, which help calls N."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What help calls it."""
        return "N"


NUMBER = _Number(min=0)
COUNT = _Number(min=1, max=2**63 - 1)
SIZE = parsed(parse_size)


def _to_environment(variable: str) -> Callable[..., None]:
    """An option that sets a variable, so that processes that are started for the work see it too."""

    def callback(_: click.Context, __: click.Parameter, value: str | tuple[str, ...] | None) -> None:
        paths = (value,) if isinstance(value, str) else value
        if paths:
            os.environ[variable] = os.pathsep.join(map(os.path.abspath, paths))

    return callback


def _tell_steps(_: click.Context, __: click.Parameter, asked: bool) -> None:
    listen(say_note if asked else None)


_FILES = click.argument("files", metavar="FILE...", type=PATH, nargs=-1, required=True)
_KEYRING = option(
    "--keyring",
    type=PATH,
    multiple=True,
    expose_value=False,
    callback=_to_environment("BINX_KEYRING"),
    help="Keyring file of the server, for encrypted logs; may be repeated.",
    section=OTHER,
)
_KEY_FILE = option(
    "--key-file",
    type=PATH,
    expose_value=False,
    callback=_to_environment("BINX_KEY_FILE"),
    help="File with one key (32 bytes or 64 hex digits), for encrypted logs.",
    section=OTHER,
)
_IDENTITY = option(
    "--identity",
    type=PATH,
    multiple=True,
    expose_value=False,
    callback=_to_environment("BINX_IDENTITY"),
    help="File of age identities (from age-keygen), for age-encrypted files; may be repeated.",
    section=OTHER,
)
KEYS = combined(_KEYRING, _KEY_FILE, _IDENTITY)
"""The keys of encrypted logs and files."""


VERBOSE = option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_tell_steps,
    help="Report what is done with each file, and why.",
    section=OTHER,
)

FILES = combined(_FILES, VERBOSE, KEYS)
"""The files that a command reads, whether to tell of them, and the keys of those that are encrypted."""

NO_CHECKSUMS = option("--no-checksums", is_flag=True, help="Do not verify event checksums.", section=OTHER)
_ON_DAMAGE = option(
    "--on-damage",
    type=click.Choice(["stop", "salvage"]),
    default="stop",
    show_default=True,
    help="On damage: stop, or read on behind it and list what could not be read.",
    section=OTHER,
)


def _format_from(help_text: str) -> Callable[[Any], Any]:
    return option(
        "--format-from",
        type=PATH,
        expose_value=False,
        callback=_to_environment(FORMAT_FROM),
        help=help_text,
        section=OTHER,
    )


FORMAT_OF = _format_from("Read logs whose first event is damaged with the first event of this log.")
"""What stands in for a damaged first event, for a command that reads on behind damage anyway."""

ON_DAMAGE = combined(
    _ON_DAMAGE,
    _format_from(
        "With --on-damage salvage: read logs whose first event is damaged with the first event of this log."
    ),
)
"""What is done about damage."""

SCHEMA = option(
    "--schema",
    metavar="FILE[@WHEN]",
    type=PATH,
    help="Table definitions, as written by mysqldump --no-data, as of WHEN: the start or end of the logs, a"
    " GTID or a time; by default as its comments say (--source-data, GTID_PURGED). DDL in the logs goes on"
    " from there. For rows before it, a table is known only if no DDL in between changed it.",
)
ZONE = option(
    "--tz",
    "zone",
    metavar="ZONE",
    type=parsed(parse_zone),
    default="UTC",
    show_default=True,
    help="Time zone for displayed times: Europe/Berlin, +02:00, local.",
)
COMPRESSION = option(
    "--compression",
    type=click.Choice(["zstd", "snappy", "lz4", "none"]),
    default="zstd",
    show_default=True,
    help="Compression of the Parquet files.",
)


def _noted(name: str) -> Callable[..., None]:
    """An option that the command's context knows by a name."""

    def callback(ctx: click.Context, _: click.Parameter, value: object) -> None:
        ctx.meta[name] = value

    return callback


LOOK = combined(
    option(
        "--layout",
        type=click.Choice(["screen", "text"]),
        expose_value=False,
        callback=_noted(LAYOUT),
        help="As on a terminal, or as in a pipe.  [default: by what standard output is]",
    ),
    option(
        "--no-pager",
        is_flag=True,
        expose_value=False,
        callback=_noted(NO_PAGER),
        help="Do not use a pager for long output on a terminal.",
    ),
)
"""How output looks, for people and for programs that read text."""

QUIET = option("-q", "--quiet", is_flag=True, help="Print only data and errors.", section=OTHER)


def schema_dump(schema: str | None) -> SchemaDump | None:
    """The dump that ``--schema`` names."""
    if schema is None:
        return None
    from binx.rows.ddl.schema_dump import read_dump

    return read_dump(schema)


def known_tables(dump: SchemaDump | None, chain: Sequence[FileEnds]) -> Catalog | None:
    """The tables that a dump tells of in these logs."""
    return None if dump is None else dump.known_in([ends.file for ends in chain])


INDEX_DIR = option(
    "--index-dir",
    metavar="DIR",
    envvar="BINX_INDEX_DIR",
    type=PATH,
    help="Folder of the index files.  [default: next to the logs]",
    section=OTHER,
)

_INDEX_OPTIONS = combined(
    option("--no-index", is_flag=True, help="Ignore index files and read the logs.", section=OTHER), INDEX_DIR
)


def index_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options about index files; the function gets them as one ``index``, None for none.

    It must have an option ``quiet``.
    """

    @wraps(function)
    def with_index(no_index: bool, index_dir: str | None, **values: Any) -> Any:
        warn = None if values["quiet"] else _warn
        return function(index=None if no_index else IndexUse(index_dir, warn), **values)

    decorated: Callable[..., Any] = _INDEX_OPTIONS(with_index)
    return decorated


def _warn(error: BinxError) -> None:
    say_warning(str(error))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"expected NAME=VALUE, found {text!r}")
    return name, value


MASTER = option(
    "--master", metavar="URL", section=SPARK, help="Spark master URL.  [default: all cores of this machine]"
)
DRIVER_MEMORY = option(
    "--driver-memory", metavar="SIZE", section=SPARK, help="Memory of the Spark driver, such as 4g."
)
SETTINGS = option(
    "--conf",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    type=parsed(_setting),
    section=SPARK,
    help="Any Spark setting; may be repeated.",
)
SPARK_OPTIONS = combined(MASTER, DRIVER_MEMORY, SETTINGS)
"""Where Spark runs, and how: ``master``, ``driver_memory`` and ``settings``."""
