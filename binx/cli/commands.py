"""Which commands there are, and the answers that need none of them.

Nothing is imported here, so that ``binx --help`` and ``binx --version`` take no longer than Python itself.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NamedTuple

from binx import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from binx.cli.declaration import Command


class Entry(NamedTuple):
    """A command as the overview lists it.

    Its code is in the module of the same name, ``-`` being ``_``, and is loaded when it is called.
    """

    name: str
    section: str
    summary: str


ENTRIES = (
    Entry("ls", "Inspect", "list transactions, one per line"),
    Entry("show", "Inspect", "show transactions event by event"),
    Entry("events", "Inspect", "list events, one per line"),
    Entry("stats", "Inspect", "show what filled the logs"),
    Entry("index", "Inspect", "write index files for faster searches"),
    Entry("verify", "Inspect", "check logs for damage and gaps"),
    Entry("why", "Inspect", "show the history of one row"),
    Entry("diff", "Inspect", "compare the logs of two servers"),
    Entry("extract", "Export", "extract whole transactions"),
    Entry("to-parquet", "Export", "export row changes to Parquet"),
    Entry("archive", "Archive", "archive closed logs, check and restore them"),
    Entry("load", "Load", "build tables from the Parquet with Spark"),
    Entry("spark-script", "Load", "print the path of the Spark loader"),
    Entry("config", "Configure", "show configured defaults"),
    Entry("completion", "Configure", "print a shell completion script"),
)

DESCRIPTION = "Read MySQL and MariaDB binary logs without a server."

FILE_HELP = """\
FILE is a binary log, a folder of logs, an .index file,
or - for standard input."""

EXAMPLES = (
    "binx ls mysql-bin.000042",
    "binx extract --gtid UUID:1006 mysql-bin.* -o one.binlog",
    "binx to-parquet mysql-bin.* -o lake",
)

_PACKAGES = ("click", "cryptography", "pyarrow", "pyspark", "rich", "sqlglot", "zstandard")
_HELP = ("--help", "-h", "help")
_INSTALLED = ".dist-info"
_COLUMN = 14


def load_command(name: str) -> Command:
    """Load one of the commands."""
    from importlib import import_module

    word = name.replace("-", "_")
    command: Command = getattr(import_module(f"binx.cli.{word}"), f"{word}_command")
    return command


def overview() -> str:
    """What ``binx`` and ``binx --help`` print."""
    lines = [DESCRIPTION, "", "Usage: binx COMMAND [OPTIONS] FILE..."]
    section = ""
    for entry in ENTRIES:
        if entry.section != section:
            section = entry.section
            lines += ["", f"{section}:"]
        lines.append(f"  {entry.name:<{_COLUMN}}{entry.summary}")
    lines += ["", FILE_HELP, "", "Examples:"]
    lines += [f"  {example}" for example in EXAMPLES]
    lines += ["", "More: binx COMMAND --help, man binx, binx --version"]
    return "\n".join(lines)


def version() -> str:
    """What ``binx --version`` prints: the version, and on a second line what it runs with."""
    from binx.kernels.crc32 import backend

    parts = [f"Python {sys.version.split()[0]}", f"CRC32 by {backend()}"]
    for package in _PACKAGES:
        found = _installed_version(package)
        parts.append(f"no {package}" if found is None else f"{package} {found}")
    return f"binx {__version__}\n{', '.join(parts)}"


def _installed_version(package: str) -> str | None:
    """The version of an installed package, None where there is none, as the name of its ``.dist-info`` tells.

    ``importlib.metadata`` says the same, and takes longer to load than all else that ``--version`` does.
    """
    for folder in sys.path:
        with suppress(OSError):
            for name in os.listdir(folder or os.curdir):
                if name.startswith(f"{package}-") and name.endswith(_INSTALLED):
                    return name[len(package) + 1 : -len(_INSTALLED)]
    return None


COMPLETE = "_BINX_COMPLETE"
"""Set where a shell asks how a command line goes on; it gives no arguments then."""


def quick_answer(arguments: list[str]) -> str | None:
    """The answer to a command line that no command is needed for, None where one is."""
    if COMPLETE in os.environ:
        return None
    if not arguments or (len(arguments) == 1 and arguments[0] in _HELP):
        return overview()
    if arguments == ["--version"]:
        return version()
    return None


def without_help_word(arguments: list[str]) -> list[str]:
    """``help COMMAND`` as ``COMMAND --help``."""
    if len(arguments) == 2 and arguments[0] == "help":
        return [arguments[1], "--help"]
    return arguments
