"""``binx config``: the defaults that are set, and where."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import click

from binx.cli.application import NAMES, load_command
from binx.cli.command import Command, Example, Option, command, option
from binx.cli.defaults import SHARED, config_path, read_config, settings_of, unknown, variable_name
from binx.cli.layout import lines_for_people, plain_lines
from binx.cli.options import QUIET
from binx.cli.terminal import has_colour, is_terminal, say_note, terminal_width, text_output
from binx.errors import ExitCode, UsageError
from binx.stats.sections import TEXT, Column, Section

EXAMPLES = (
    Example("which defaults are set, and where", "binx config"),
    Example("a template with all options commented out", "binx config --template"),
)

_COLUMNS = (
    Column("COMMAND", TEXT),
    Column("OPTION", TEXT),
    Column("VALUE", TEXT, cut=True),
    Column("SET IN", TEXT, cut=True),
)
_WIDTH = 78


@command("config", examples=EXAMPLES, takes_defaults=False)
@option("--path", "only_path", is_flag=True, help="Print the path of the configuration file.")
@option("--template", is_flag=True, help="Print a template of the configuration file.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@QUIET
@click.pass_context
def config_command(
    ctx: click.Context, only_path: bool, template: bool, as_json: bool, quiet: bool
) -> ExitCode:
    """Show which option defaults are set in the environment or the configuration file, and where."""
    with text_output() as output:
        if only_path:
            output.line(config_path() or "")
        elif template:
            for line in _template():
                output.line(line)
        else:
            found = list(_defaults(ctx))
            for line in _json(found) if as_json else _table(found, quiet=quiet):
                output.line(line)
    return ExitCode.DONE


class _Default(NamedTuple):
    """A default that is set: for which option of which command, to what, and where."""

    command: str
    option: str
    value: Any
    origin: str


def _defaults(ctx: click.Context) -> Iterator[_Default]:
    """The defaults that are set, in the environment or else in the file."""
    config = read_config()
    for name in config:
        if isinstance(config[name], dict) and name not in NAMES:
            raise UsageError(f"there is {unknown('command', name, NAMES)}", path=config_path())
    for one in _commands():
        settings = settings_of(one.name or "", one.options, config)
        own = click.Context(one, parent=ctx.find_root(), info_name=one.name)
        for name, parameter in one.options.items():
            variable = parameter.variable(own)
            if variable is not None:
                value, origin = parameter.value_from_envvar(own), variable
            elif name in settings:
                value, origin = parameter.from_file(settings[name]), settings[name].origin
            else:
                continue
            yield _Default(one.name or "", name, click.BOOL(value) if parameter.is_flag else value, origin)


def _commands() -> list[Command]:
    return [one for one in map(load_command, NAMES) if one.takes_defaults]


def _json(found: list[_Default]) -> Iterator[str]:
    path = config_path()
    document = {
        "file": path,
        "exists": path is not None and Path(path).is_file(),
        "settings": [one._asdict() for one in found],
    }
    yield json.dumps(document, ensure_ascii=False)


def _table(found: list[_Default], *, quiet: bool) -> Iterator[str]:
    path = config_path()
    if path is not None and not quiet:
        say_note(f"configuration file: {path}{'' if Path(path).is_file() else ' (does not exist)'}")
    if not found:
        if not quiet:
            say_note("no default is set")
        return
    rows = [one._replace(value=_shown(one.value)) for one in found]
    section = Section("DEFAULTS", _COLUMNS, rows)
    if is_terminal(sys.stdout):
        yield from lines_for_people(section, terminal_width(sys.stdout), colour=has_colour(sys.stdout))
    else:
        yield from plain_lines(section)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _template() -> Iterator[str]:
    yield "# Defaults of binx. Uncomment lines to set them; `binx config` shows what is set."
    yield f"# {config_path() or ''}".rstrip()
    yield ""
    yield f"# For all commands that have these options; in the environment: {variable_name('OPTION')}."
    shared = {name: one for found in _commands() for name, one in found.options.items() if name in SHARED}
    yield from (f"# {name} = {_value(shared[name])}" for name in sorted(shared))
    for one in _commands():
        yield ""
        yield f"[{one.name}]"
        for name, parameter in one.options.items():
            if name not in SHARED and not parameter.required:
                yield from wrap(parameter.help or "", _WIDTH, initial_indent="## ", subsequent_indent="## ")
                yield f"# {name} = {_value(parameter)}"


def _value(parameter: Option) -> str:
    """The default as TOML has it; of an option without one, an empty text or list."""
    if parameter.is_flag:
        return "false"
    return "[]" if parameter.multiple else json.dumps(str(parameter.default or ""))
