"""Defaults of options that a user sets once: in a file, or in the environment.

An option's value is, from the strongest: what the command line says; ``BINX_COMMAND_OPTION`` in the
environment, such as ``BINX_TO_PARQUET_COMPRESSION``; ``BINX_OPTION`` for the options of :data:`COMMON`; the
command's table in the file; the file's own keys for those of :data:`COMMON`; binx's own default.

The file is TOML: ``$BINX_CONFIG``, or ``binx/config.toml`` in ``$XDG_CONFIG_HOME`` or ``~/.config``. Keys are
the options' long names::

    quiet = true

    [to-parquet]
    compression = "zstd"
    memory = 128

A name that no option has is an error, so that a default never goes unheeded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from binx.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from binx.cli.declaration import Command, Option

VARIABLE = "BINX_CONFIG"
"""Where it is set, the file's path; where it is empty, there is no file."""

COMMON = frozenset(
    {
        "identity",
        "jobs",
        "key-file",
        "keyring",
        "memory",
        "no-checksums",
        "no-index",
        "quiet",
        "schema",
        "tz",
        "verbose",
    }
)
"""Options that mean the same for all commands which have them, and may be set for all at once."""

_PREFIX = "BINX_"


class Setting(NamedTuple):
    """A default that a user has set.

    Attributes:
        option: the option's long name, without its hyphens in front.
        value: as the environment has it a text, as the file has it a number, a truth value or a list too.
        origin: where it is set.
    """

    option: str
    value: Any
    origin: str


def config_path() -> str | None:
    """The file of defaults, whether it is there or not; None where the environment wants none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return given or None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "binx", "config.toml")


def read_config() -> dict[str, Any]:
    """What the file says; nothing where there is no file.

    Raises:
        UsageError: it cannot be read, or is no TOML.
    """
    path = config_path()
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(VARIABLE):
            raise UsageError(
                f"the configuration file given by {VARIABLE} does not exist", path=path
            ) from None
        return {}
    except OSError as error:
        raise UsageError(f"the configuration file cannot be read: {error.strerror}", path=path) from error
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration file is not valid TOML: {error}", path=path) from error


def settings_of(
    command: Command, config: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Setting]:
    """The defaults that are set for a command, by the name of the parameter.

    Args:
        command: the command.
        config: what :func:`read_config` gives.
        environment: the process's.

    Raises:
        UsageError: a name that is none of the command's options, or a value that is no value of one.
    """
    options = dict(options_of(command))
    origin = config_path() or ""
    found: dict[str, Setting] = {}
    own = config.get(command.name, {})
    if not isinstance(own, dict):
        raise UsageError(f"expected a table [{command.name}], found a value", path=origin)
    for name, option in options.items():
        setting = _setting(command.name, name, config, own, environment, origin)
        if setting is not None:
            found[option.name] = setting._replace(value=_checked(option, setting))
    for name in own:
        if name not in options:
            raise UsageError(f"[{command.name}] has {_unknown(name, list(options))}", path=origin)
    return found


def defaults_of(command: Command) -> dict[str, Any]:
    """The defaults that are set for a command, by the name of the parameter.

    Raises:
        UsageError: see :func:`read_config` and :func:`settings_of`.
    """
    config = read_config()
    if not config and not any(name.startswith(_PREFIX) for name in os.environ):
        return {}
    check_names(config, None)
    return {name: setting.value for name, setting in settings_of(command, config, os.environ).items()}


def check_names(config: Mapping[str, Any], commands: list[str] | None) -> None:
    """Raise UsageError for a key of the file that is neither a common option nor a command's table."""
    for name, value in config.items():
        if isinstance(value, dict):
            if commands is not None and name not in commands:
                raise UsageError(f"there is {_unknown(name, commands, 'command')}", path=config_path())
        elif name not in COMMON:
            raise UsageError(
                f"there is {_unknown(name, sorted(COMMON))}; options of a single command belong in its"
                " table, such as [to-parquet]",
                path=config_path(),
            )


def options_of(command: Command) -> Iterator[tuple[str, Option]]:
    """The options of a command that can have defaults, by their long names without hyphens in front."""
    return ((option.long_name, option) for option in command.options if not option.hidden)


def variable_name(*words: str) -> str:
    """The variable of the environment for an option, or for one of a command."""
    return _PREFIX + "_".join(words).replace("-", "_").upper()


def _setting(
    command: str,
    option: str,
    config: Mapping[str, Any],
    own: Mapping[str, Any],
    environment: Mapping[str, str],
    origin: str,
) -> Setting | None:
    """The strongest of an option's defaults."""
    variables = [variable_name(command, option)]
    if option in COMMON:
        variables.append(variable_name(option))
    for variable in variables:
        if environment.get(variable):
            return Setting(option, environment[variable], variable)
    if option in own:
        return Setting(option, own[option], f"{origin} [{command}]")
    if option in COMMON and option in config:
        return Setting(option, config[option], origin)
    return None


def _checked(option: Option, setting: Setting) -> Any:
    """The value as the command line has it: a text, a list of texts, or of a flag whether it is given."""
    value = setting.value
    if option.multiple:
        values = value if isinstance(value, list) else [value]
        return [_plain(one, setting) for one in values]
    if option.is_flag:
        return _truth(value, setting)
    return _plain(value, setting)


def _plain(value: Any, setting: Setting) -> str:
    if isinstance(value, bool | list | dict):
        raise UsageError(
            f"{setting.origin}: expected a text or a number for {setting.option}, found {value!r}"
        )
    return str(value)


def _truth(value: Any, setting: Setting) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    known = value if isinstance(value, bool) else words.get(str(value).strip().lower())
    if known is None:
        raise UsageError(f"{setting.origin}: expected true or false for {setting.option}, found {value!r}")
    return known


def _unknown(name: str, known: list[str], what: str = "option") -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"no {what} {name!r}" + (f"; did you mean {near[0]}?" if near else "")


__all__ = [
    "COMMON", "VARIABLE", "Setting", "check_names", "config_path", "defaults_of", "options_of", "read_config",
    "settings_of", "variable_name",
]  # fmt: skip
