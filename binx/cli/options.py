"""Options that commands share."""

from __future__ import annotations

import os
from collections.abc import Callable

from binx.cli.declaration import OUTPUT, Choice, FilePath, Parsed, argument, combined, option
from binx.cli.terminal import say_note
from binx.errors import UsageError
from binx.log.steps import listen
from binx.log.zones import parse_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from binx.rows.catalog import Catalog

_DIGITS = 20
_LARGEST_COUNT = 2**63 - 1


def whole_number(text: str) -> int:
    """A number that is not negative.

    Raises:
        UsageError: the text is none.
    """
    if not text.strip().isdecimal() or len(text) > _DIGITS:
        raise UsageError(f"expected a whole number, found {text!r}")
    return int(text)


def _count(text: str) -> int:
    number = whole_number(text)
    if number == 0:
        raise UsageError("expected a number of at least 1, found 0")
    if number > _LARGEST_COUNT:
        raise UsageError(f"expected a number below 2^63, found {text!r}")
    return number


NUMBER = Parsed("number", whole_number)
COUNT = Parsed("count", _count)


def _to_environment(variable: str) -> Callable[[str | tuple[str, ...] | None], None]:
    """An option that sets a variable, so that processes that are started for the work see it too."""

    def act(value: str | tuple[str, ...] | None) -> None:
        paths = (value,) if isinstance(value, str) else value
        if paths:
            os.environ[variable] = os.pathsep.join(map(os.path.abspath, paths))

    return act


_FILES = argument("files", metavar="FILE...", value=FilePath(), multiple=True)
_KEYRING = option(
    "--keyring",
    metavar="FILE",
    value=FilePath(),
    multiple=True,
    act=_to_environment("BINX_KEYRING"),
    help="Keyring file of the server, for encrypted logs; may be repeated.",
)
_KEY_FILE = option(
    "--key-file",
    metavar="FILE",
    value=FilePath(),
    act=_to_environment("BINX_KEY_FILE"),
    help="File with one key (32 bytes or 64 hex digits), for encrypted logs.",
)
_IDENTITY = option(
    "--identity",
    metavar="FILE",
    value=FilePath(),
    multiple=True,
    act=_to_environment("BINX_IDENTITY"),
    help="File of age identities (from age-keygen), for age-encrypted files; may be repeated.",
)
KEYS = combined(_KEYRING, _KEY_FILE, _IDENTITY)
"""The keys of encrypted logs and files."""


def _tell_steps(asked: bool) -> None:
    listen(say_note if asked else None)


VERBOSE = option(
    "-v",
    "--verbose",
    is_flag=True,
    act=_tell_steps,
    help="Report what is done with each file, and why.",
)

FILES = combined(_FILES, VERBOSE, KEYS)
"""The files that a command reads, whether to tell of them, and the keys of those that are encrypted."""

NO_CHECKSUMS = option("--no-checksums", is_flag=True, help="Do not verify event checksums.")
ON_DAMAGE = option(
    "--on-damage",
    value=Choice("stop", "salvage"),
    default="stop",
    show_default=True,
    help="On damage: stop, or extract what is intact and list the rest.",
)
SCHEMA = option(
    "--schema",
    metavar="FILE",
    value=FilePath(),
    section=OUTPUT,
    help="Table definitions, as written by mysqldump --no-data.",
)
ZONE = option(
    "--tz",
    name="zone",
    metavar="ZONE",
    value=Parsed("zone", parse_zone),
    default="UTC",
    show_default=True,
    section=OUTPUT,
    help="Time zone for displayed times: Europe/Berlin, +02:00, local.",
)
COMPRESSION = option(
    "--compression",
    value=Choice("zstd", "snappy", "lz4", "none"),
    default="zstd",
    show_default=True,
    section=OUTPUT,
    help="Compression of the Parquet files.",
)
QUIET = option("-q", "--quiet", is_flag=True, help="Print only data and errors.")


def known_tables(schema: str | None) -> tuple[Catalog | None, list[str]]:
    """The tables that ``--schema`` names, and what of it was not understood."""
    if schema is None:
        return None, []
    from binx.export.known_tables import read_dump

    return read_dump(schema)
