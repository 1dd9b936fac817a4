"""``binx mcp``: tools for assistants, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

import click

from binx.cli.command import COUNT, PATH, Example, command, option, parsed
from binx.cli.options import KEYS, QUIET
from binx.cli.terminal import say_note
from binx.errors import BinxError, ExitCode, UsageError
from binx.log.selection.times import parse_size
from binx.version import install_command

EXAMPLES = (
    Example("what a client of the protocol runs", "binx mcp . lake"),
    Example("longer answers, and more time for each", "binx mcp --answer-bytes 256K --timeout 300 lake"),
)


@command("mcp", examples=EXAMPLES)
@click.argument("folders", metavar="FOLDER...", type=PATH, nargs=-1, required=True)
@option(
    "--answer-bytes SIZE",
    type=parsed(parse_size),
    default="64K",
    help="Maximum size of an answer; what exceeds it is cut, and said to be.",
)
@option("--timeout SECONDS", "seconds", type=COUNT, default=120, help="Maximum duration of a call.")
@QUIET
@KEYS
def mcp_command(folders: tuple[str, ...], answer_bytes: int, seconds: int, quiet: bool) -> ExitCode:
    """Serve tools that read binary logs to an assistant, on standard input and output.

    The tools are ls, show, why, stats, verify, diff, state, query and undo (extract --reverse, as SQL). They
    read only files below FOLDER..., and write nothing but temporary files.
    """
    for folder in folders:
        if not Path(folder).is_dir():
            raise UsageError("expected a folder, found none", path=folder)
    try:
        import anyio

        from binx.cli.mcp_server import AssistantServer
    except ImportError:
        raise BinxError(f"this needs the package mcp, version 2: {install_command('mcp')}") from None
    if not quiet:
        say_note("serving the Model Context Protocol on standard input and output")
    anyio.run(AssistantServer(folders, answer_bytes, seconds).serve)
    return ExitCode.DONE
