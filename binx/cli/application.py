"""The click application: a group that loads a command's module when the command is called."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

import click

from binx.cli.command import HELP_NAMES, Command
from binx.kernels.crc32 import backend
from binx.version import __version__

PROGRAM = "binx"


class Entry(NamedTuple):
    """A command's entry in the overview.

    Its code is in the module of the same name in ``binx.cli.commands``, with ``_`` for ``-``.
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
    Entry("query", "Inspect", "answer SQL about changes and transactions"),
    Entry("mcp", "Inspect", "answer assistants (Model Context Protocol)"),
    Entry("plan", "Inspect", "plan a point-in-time recovery"),
    Entry("extract", "Export", "extract whole transactions"),
    Entry("to-parquet", "Export", "export row changes to Parquet"),
    Entry("base", "Export", "take a backup's tables into a data set"),
    Entry("pull", "Archive", "copy a server's logs as it writes them"),
    Entry("archive", "Archive", "archive closed logs, check and restore them"),
    Entry("serve", "Archive", "offer logs to replicas"),
    Entry("load", "Load", "build tables from the Parquet with Spark"),
    Entry("state", "Load", "write a table as it was at a moment"),
    Entry("erase", "Load", "erase rows of a key from loaded tables"),
    Entry("spark-script", "Load", "print the path of the Spark loader"),
    Entry("config", "Configure", "show configured defaults"),
    Entry("completion", "Configure", "print a shell completion script"),
)
NAMES = tuple(entry.name for entry in ENTRIES)

DESCRIPTION = "Read MySQL and MariaDB binary logs without a server."

FILE_HELP = """\
FILE is a binary log, a folder of logs, an .index file,
or - for standard input."""

EXAMPLES = (
    "binx ls mysql-bin.000042",
    "binx extract --gtid UUID:1006 mysql-bin.* -o one.binlog",
    "binx to-parquet mysql-bin.* -o lake",
)

_PACKAGES = ("click", "cryptography", "duckdb", "mcp", "pyarrow", "pyspark", "rich", "sqlglot", "zstandard")
_INSTALLED = ".dist-info"
_COLUMN = 14


class Application(click.Group):
    """All commands by name, each loaded when it is called."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """Load a command; return None if there is none of that name."""
        return load_command(cmd_name) if cmd_name in NAMES else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; ``help COMMAND`` is ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def get_help(self, ctx: click.Context) -> str:
        """Return the overview."""
        lines = [DESCRIPTION, "", "Usage: binx COMMAND [OPTIONS] FILE..."]
        section = ""
        for entry in ENTRIES:
            if entry.section != section:
                section = entry.section
                lines += ["", f"{section}:"]
            lines.append(f"  {entry.name:<{_COLUMN}}{entry.summary}")
        lines += ["", FILE_HELP, "", "Examples:"]
        lines += [f"  {example}" for example in EXAMPLES]
        lines += ["", "More: binx COMMAND -h or --help, man binx, binx --version"]
        return "\n".join(lines)


def load_command(name: str) -> Command:
    """Load one of the commands."""
    word = name.replace("-", "_")
    command: Command = getattr(import_module(f"binx.cli.commands.{word}"), f"{word}_command")
    return command


def _print_version(ctx: click.Context, _parameter: click.Parameter, is_wanted: bool) -> None:
    """Print the version, and on a second line the versions of what it runs with."""
    if not is_wanted or ctx.resilient_parsing:
        return
    versions = [f"Python {sys.version.split()[0]}", f"CRC32 by {backend()}"]
    for package in _PACKAGES:
        version = _installed_version(package)
        versions.append(f"no {package}" if version is None else f"{package} {version}")
    click.echo(f"binx {__version__}\n{', '.join(versions)}")
    ctx.exit()


def _installed_version(package: str) -> str | None:
    """Return an installed package's version from the name of its ``.dist-info``, or None.

    ``importlib.metadata`` does the same, but takes longer to load than everything else in ``--version``.
    """
    for folder in sys.path:
        with suppress(OSError):
            for entry in os.scandir(folder or os.curdir):
                name = entry.name
                if name.startswith(f"{package}-") and name.endswith(_INSTALLED):
                    return name[len(package) + 1 : -len(_INSTALLED)]
    return None


@click.group(
    PROGRAM,
    cls=Application,
    help=DESCRIPTION,
    commands=[click.Command(name) for name in NAMES],
    invoke_without_command=True,
    context_settings={"help_option_names": list(HELP_NAMES)},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    allow_from_autoenv=False,
    callback=_print_version,
    help="Show the version.",
)
@click.pass_context
def application(ctx: click.Context) -> None:
    """Without a command, the overview is printed."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
