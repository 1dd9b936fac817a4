"""Plain command lines, read without click: it takes as long to load as a short command takes to run.

What is read here means the same to click. All else is click's: command lines that are wrong, ask for help, or
are written in one of the rarer ways, as ``-qofile``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from binx.cli.commands import COMPLETE, ENTRIES, load_command
from binx.cli.declaration import Argument, Command, Option, Parameter
from binx.cli.defaults import defaults_of
from binx.errors import ExitCode, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run_plain(arguments: Sequence[str]) -> int | None:
    """Run a plain command line.

    Args:
        arguments: the command's name, and what follows.

    Returns:
        The command's exit code; None where click is to read the command line.

    Raises:
        UsageError: a default that the user has set cannot be understood.
        BinxError: what the command raises.
    """
    if COMPLETE in os.environ or not any(entry.name == arguments[0] for entry in ENTRIES):
        return None
    command = load_command(arguments[0])
    values = plain_values(command, arguments[1:])
    if values is None:
        return None
    given = {}
    for parameter, value in values.items():
        if isinstance(parameter, Option) and parameter.act is not None:
            parameter.act(value)
        else:
            given[parameter.name] = value
    return int(command.function(**given) or ExitCode.DONE)


def plain_values(command: Command, arguments: Sequence[str]) -> dict[Parameter, Any] | None:
    """What a command line gives to a command's parameters.

    Args:
        command: the command.
        arguments: those behind its name.

    Returns:
        The values of all its parameters; None where click is to read the command line.

    Raises:
        UsageError: a default that the user has set cannot be understood.
    """
    given = _given(command, arguments)
    if given is None:
        return None
    defaults = defaults_of(command) if command.takes_defaults else {}
    try:
        return {one: _value(one, given, defaults) for one in command.parameters}
    except UsageError:
        return None


def _given(command: Command, arguments: Sequence[str]) -> dict[Parameter, list[str]] | None:
    """The texts on the command line by parameter, a flag's being empty; None where it is not plain."""
    options = {name: one for one in command.options for name in one.names if one.alone is None}
    given: dict[Parameter, list[str]] = {}
    texts: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "-" or not word.startswith("-"):
            texts.append(word)
            continue
        name, equals, text = word.partition("=")
        option = options.get(name)
        if option is None or (equals and (option.is_flag or not name.startswith("--"))):
            return None
        if not option.is_flag and not equals:
            text = next(words, "-")
            if text.startswith("-"):
                return None
        if option in given and not option.multiple:
            return None
        given.setdefault(option, []).append(text)
    return given if _place(command, texts, given) else None


def _place(command: Command, texts: list[str], given: dict[Parameter, list[str]]) -> bool:
    """Give texts to arguments; returns whether each has its place."""
    left = list(texts)
    for one in command.parameters:
        if isinstance(one, Argument) and left:
            taken = len(left) if one.multiple else 1
            given[one], left = left[:taken], left[taken:]
    return not left and all(one in given for one in command.parameters if one.required)


def _value(parameter: Parameter, given: Mapping[Parameter, list[str]], defaults: Mapping[str, Any]) -> Any:
    """The strongest of what is given and the defaults, read."""
    if isinstance(parameter, Option) and parameter.is_flag:
        return parameter in given or defaults.get(parameter.name, False)
    texts = given.get(parameter) or _default(parameter, defaults)
    values = tuple(parameter.value.read(text) for text in texts)
    if parameter.multiple:
        return values
    return values[0] if values else None


def _default(parameter: Parameter, defaults: Mapping[str, Any]) -> Sequence[str]:
    """The texts that hold where the command line is silent."""
    variable = parameter.variable if isinstance(parameter, Option) else None
    if variable is not None and os.environ.get(variable):
        return (os.environ[variable],)
    if parameter.name in defaults:
        set_by_user: str | list[str] = defaults[parameter.name]
        return set_by_user if isinstance(set_by_user, list) else (set_by_user,)
    return () if parameter.default is None else (parameter.default,)
