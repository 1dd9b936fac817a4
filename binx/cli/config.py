"""``binx config``: the defaults that are set, and where."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from binx.cli.commands import ENTRIES, load_command
from binx.cli.declaration import OUTPUT, Command, Example, Option, command, option
from binx.cli.defaults import (
    COMMON,
    Setting,
    check_names,
    config_path,
    options_of,
    read_config,
    settings_of,
    variable_name,
)
from binx.cli.options import QUIET
from binx.cli.sections import TEXT, Column, Section, lines_for_people, plain_lines
from binx.cli.terminal import has_colour, is_terminal, say_note, terminal_width, text_output

EXAMPLES = (
    Example("which defaults are set, and where", "binx config"),
    Example("a template with all options commented out", "binx config --template"),
)

DETAILS = (
    "The command line takes precedence. Next come environment variables: BINX_COMMAND_OPTION, such as"
    " BINX_TO_PARQUET_COMPRESSION, and for options shared by many commands BINX_OPTION, such as BINX_QUIET."
    " Then come the command's table in the configuration file, and its top-level keys for shared options.",
    "The file is TOML, with the long names of the options: `quiet = true` at the top level, `compression ="
    ' "zstd"` in the table [to-parquet]. Its path is $BINX_CONFIG, or binx/config.toml in $XDG_CONFIG_HOME'
    " or ~/.config. Unknown option names are errors.",
)

_COLUMNS = (
    Column("COMMAND", TEXT),
    Column("OPTION", TEXT),
    Column("VALUE", TEXT, cut=True),
    Column("SET IN", TEXT, cut=True),
)
_WIDTH = 78


@command("config", examples=EXAMPLES, details=DETAILS, takes_defaults=False)
@option(
    "--path", name="only_path", is_flag=True, section=OUTPUT, help="Print the path of the configuration file."
)
@option("--template", is_flag=True, section=OUTPUT, help="Print a template of the configuration file.")
@option("--json", name="as_json", is_flag=True, section=OUTPUT, help="Print one JSON object.")
@QUIET
def config_command(only_path: bool, template: bool, as_json: bool, quiet: bool) -> None:
    """Show which option defaults are set in the environment or the configuration file, and where."""
    with text_output() as output:
        if only_path:
            output.line(config_path() or "")
        elif template:
            for line in _template():
                output.line(line)
        else:
            found = [(name, setting) for name, one in _commands() for setting in _settings(name, one)]
            for line in _json(found) if as_json else _table(found, quiet=quiet):
                output.line(line)


def _commands() -> Iterator[tuple[str, Command]]:
    for entry in ENTRIES:
        one = load_command(entry.name)
        if one.takes_defaults:
            yield entry.name, one


def _settings(name: str, one: Command) -> Iterator[Setting]:
    config = read_config()
    check_names(config, [entry.name for entry in ENTRIES])
    yield from settings_of(one, config, os.environ).values()


def _json(found: list[tuple[str, Setting]]) -> Iterator[str]:
    path = config_path()
    document = {
        "file": path,
        "exists": path is not None and Path(path).is_file(),
        "settings": [
            {"command": name, "option": one.option, "value": one.value, "origin": one.origin}
            for name, one in found
        ],
    }
    yield json.dumps(document, ensure_ascii=False)


def _table(found: list[tuple[str, Setting]], *, quiet: bool) -> Iterator[str]:
    path = config_path()
    if path is not None and not quiet:
        say_note(f"configuration file: {path}{'' if Path(path).is_file() else ' (does not exist)'}")
    if not found:
        if not quiet:
            say_note("no default is set")
        return
    rows = [(name, one.option, _shown(one.value), one.origin) for name, one in found]
    section = Section("DEFAULTS", _COLUMNS, rows)
    if is_terminal(sys.stdout):
        yield from lines_for_people(section, terminal_width(sys.stdout), colour=has_colour(sys.stdout))
    else:
        yield from plain_lines(section)


def _shown(value: object) -> str:
    return (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _template() -> Iterator[str]:
    yield "# Defaults of binx. Uncomment lines to set them; `binx config` shows what is set."
    yield f"# {config_path() or ''}".rstrip()
    yield ""
    yield f"# For all commands that have these options; in the environment: {variable_name('OPTION')}."
    yield from (f"# {name} = {_value(one)}" for name, one in _common().items())
    for name, one in _commands():
        yield ""
        yield f"[{name}]"
        for long, parameter in options_of(one):
            if long not in COMMON and not parameter.required:
                yield from _comment(parameter.help)
                yield f"# {long} = {_value(parameter)}"


def _common() -> dict[str, Option]:
    found: dict[str, Option] = {}
    for _, one in _commands():
        found |= {long: parameter for long, parameter in options_of(one) if long in COMMON}
    return dict(sorted(found.items()))


def _comment(text: str) -> Iterator[str]:
    from textwrap import wrap

    yield from wrap(text, _WIDTH, initial_indent="## ", subsequent_indent="## ")


def _value(parameter: Option) -> str:
    """The default as TOML has it; of an option without one, an empty text or list."""
    if parameter.is_flag:
        return "false"
    if parameter.multiple:
        return "[]"
    return json.dumps(parameter.default or "")
