"""``binx config``: show configured defaults and their origin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from binx.cli.application import NAMES, load_command
from binx.cli.command import Example, command, flag
from binx.cli.defaults import config_path, read_config, settings_of, unknown
from binx.cli.layout import section_lines
from binx.cli.options import QUIET, as_json_option
from binx.cli.terminal import say_note, screen, text_output
from binx.errors import ExitCode, UsageError
from binx.report.document import json_line
from binx.stats.sections import TEXT, Section, SectionColumn

EXAMPLES = (
    Example("which defaults are set, and where", "binx config"),
    Example("where the file of defaults is", "binx config --path"),
)

_COLUMNS = (
    SectionColumn("COMMAND", TEXT),
    SectionColumn("OPTION", TEXT),
    SectionColumn("VALUE", TEXT, cut=True),
    SectionColumn("SET IN", TEXT, cut=True),
)


@command("config", examples=EXAMPLES, takes_defaults=False)
@flag("--path", "Print the path of the configuration file.", "only_path")
@as_json_option("Print one JSON object.")
@QUIET
@click.pass_context
def config_command(ctx: click.Context, only_path: bool, as_json: bool, quiet: bool) -> ExitCode:
    """Show which option defaults are set in the environment or the configuration file, and where."""
    path = config_path()
    exists = path is not None and Path(path).is_file()
    if not (quiet or as_json or only_path):
        shown = path or "none"
        say_note(f"configuration file: {shown}{'' if exists or path is None else ' (does not exist)'}")
    with text_output() as output:
        if only_path:
            output.line(path or "")
            return ExitCode.DONE
        defaults = list(_defaults(ctx))
        if as_json:
            output.line(json_line("config", {"path": path, "exists": exists, "settings": defaults}))
        elif defaults:
            rows = [default._replace(value=_shown(default.value)) for default in defaults]
            width, colour = screen()
            for line in section_lines(Section("DEFAULTS", _COLUMNS, rows), width, colour=colour):
                output.line(line)
    return ExitCode.DONE


class _ConfiguredDefault(NamedTuple):
    """A configured default: command, option, value, and origin."""

    command: str
    option: str
    value: Any
    origin: str


def _defaults(ctx: click.Context) -> Iterator[_ConfiguredDefault]:
    """Yield the configured defaults, from the environment or else from the file."""
    config = read_config()
    for name in config:
        if isinstance(config[name], dict) and name not in NAMES:
            raise UsageError(f"there is {unknown('command', name, NAMES)}", path=config_path())
    for command_name in NAMES:
        options = load_command(command_name).options
        settings = settings_of(command_name, options, config)
        for name, option in options.items():
            variable = next((word for word in option.envvar or () if os.environ.get(word)), None)
            if variable is not None:
                value, origin = option.value_from_envvar(ctx), variable
            elif name in settings:
                value, origin = settings[name]
            else:
                continue
            yield _ConfiguredDefault(
                command_name, name, click.BOOL(value) if option.is_flag else value, origin
            )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
