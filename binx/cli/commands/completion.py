"""``binx completion``: print a shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from binx.cli.command import Example, command
from binx.cli.options import QUIET
from binx.cli.terminal import text_output
from binx.errors import ExitCode

EXAMPLES = (
    Example("a script for ~/.bashrc to source", "binx completion bash > binx.bash"),
    Example("the same for fish (for ~/.config/fish/completions)", "binx completion fish > binx.fish"),
)


@command("completion", examples=EXAMPLES, takes_defaults=False)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@QUIET
@click.pass_context
def completion_command(ctx: click.Context, shell: str, quiet: bool) -> ExitCode:
    """Print a script that completes commands, options and files in bash, zsh or fish."""
    root = ctx.find_root()
    with text_output() as output:
        output.write(completion_script(root.command, root.info_name or "", shell))
    return ExitCode.DONE


def completion_script(program: click.Command, name: str, shell: str) -> str:
    """Return the script by which a shell completes a program's command lines."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(program, {}, name, f"_{name}_COMPLETE".upper()).source().rstrip("\n") + "\n"
