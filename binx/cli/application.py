"""The click application: a group that loads a command's module when the command is called."""

from __future__ import annotations

import os

import click
from click.exceptions import Abort, Exit

from binx.cli.click_commands import ClickCommand
from binx.cli.commands import COMPLETE, DESCRIPTION, ENTRIES, load_command, overview, version
from binx.errors import ExitCode, UsageError

PROGRAM = "binx"
_NAMES = [entry.name for entry in ENTRIES]


class Application(click.Group):
    """All commands, none of them loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, in the overview's order."""
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> ClickCommand | None:
        """Load a command; None where there is none of that name."""
        return ClickCommand(load_command(cmd_name)) if cmd_name in _NAMES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which name may have been meant."""
        name = args[0]
        if name not in _NAMES and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, _NAMES, n=2, cutoff=0.5)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"there is no command {name!r}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """The overview."""
        return overview()


def _print_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        print(version())
        ctx.exit()


application = Application(
    PROGRAM,
    help=DESCRIPTION,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version.",
        )
    ],
)


def invoke(arguments: list[str]) -> int:
    """Run a command.

    Returns:
        The command's exit code.

    Raises:
        UsageError: the command line cannot be understood.
        KeyboardInterrupt: the user has pressed Ctrl-C.
        BinxError: what the command raises.
    """
    if COMPLETE in os.environ:
        from binx.cli.completion import install_bash

        install_bash()
        application.main(arguments, prog_name=PROGRAM)
    try:
        with application.make_context(PROGRAM, list(arguments)) as context:
            return int(application.invoke(context) or ExitCode.DONE)
    except click.UsageError as error:
        raise UsageError(_usage_message(error)) from error
    except Exit as ending:
        return ending.exit_code
    except Abort:
        raise KeyboardInterrupt from None


def _usage_message(error: click.UsageError) -> str:
    """What is wrong, and which help tells more."""
    path = error.ctx.command_path if error.ctx is not None else PROGRAM
    # Of an argument that is missing click lists the choices a line each.
    message = " ".join(error.format_message().rstrip(".").split())
    return f"{message}\nTry: {path} --help"
