"""User-defined defaults of options, from the environment and the configuration file.

An option's value comes from, in order of precedence: the command line; ``BINX_COMMAND_OPTION`` in the
environment, such as ``BINX_TO_PARQUET_COMPRESSION``; ``BINX_OPTION`` for the options of :data:`SHARED`; the
command's table in the file; the file's top-level keys for those of :data:`SHARED`; binx's own default.

The file is TOML: ``$BINX_CONFIG``, or ``binx/config.toml`` in ``$XDG_CONFIG_HOME`` or ``~/.config``. An
unknown name in it is an error, so that no default is silently ignored.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import click

from binx.cli.terminal import say_warning
from binx.errors import UsageError
from binx.source.wording import did_you_mean

VARIABLE = "BINX_CONFIG"
"""The file's path, if set; if set to empty, no file is read."""

SHARED = frozenset(
    {
        "identity",
        "index-dir",
        "jobs",
        "key-file",
        "keyring",
        "memory",
        "no-checksums",
        "no-index",
        "no-pager",
        "quiet",
        "schema",
        "tz",
        "verbose",
    }
)
"""Options with the same meaning in all commands that have them; they may be set for all at once."""


class Setting(NamedTuple):
    """A default in the file, in click's form."""

    value: Any
    origin: str


def config_path() -> str | None:
    """Return the configuration file's path, whether it exists or not; None if disabled."""
    path = os.environ.get(VARIABLE)
    if path is not None:
        return path or None
    return os.path.join(
        os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "binx", "config.toml"
    )


def read_config() -> dict[str, Any]:
    """Read the configuration file; empty if there is none, or if that of the home folder cannot be read.

    Raises:
        UsageError: it is not TOML, or the file that the environment names cannot be read.
    """
    path = config_path()
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            import tomllib

            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(VARIABLE):
            raise UsageError(
                f"the configuration file given by {VARIABLE} does not exist", path=path
            ) from None
        return {}
    except OSError as error:
        unreadable = UsageError(f"the configuration file cannot be read: {error.strerror}", path=path)
        if os.environ.get(VARIABLE):
            raise unreadable from error
        say_warning(f"{unreadable}; options have no defaults from it")
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration file is not valid TOML: {error}", path=path) from error


def settings_of(
    command: str, options: Mapping[str, click.Option], config: Mapping[str, Any]
) -> dict[str, Setting]:
    """Return the file's settings for a command, by the long names of options.

    Raises:
        UsageError: a key of the file is neither a shared option nor a table, or an option that the command
            lacks, or its value has a type that options do not have.
    """
    path = config_path() or ""
    settings: dict[str, Setting] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            continue
        if name not in SHARED:
            raise UsageError(
                f"there is {unknown('option', name, SHARED)}; options of a single command belong in its"
                " table, such as [to-parquet]",
                path=path,
            )
        if name in options:
            settings[name] = Setting(_value(options[name], name, value, path), path)
    for name, value in config.get(command, {}).items():
        if name not in options:
            raise UsageError(f"[{command}] has {unknown('option', name, options)}", path=path)
        origin = f"{path} [{command}]"
        settings[name] = Setting(_value(options[name], name, value, origin), origin)
    return settings


def _value(option: click.Option, name: str, value: Any, origin: str) -> Any:
    if option.is_flag:
        return value
    values = value if option.multiple and isinstance(value, list) else [value]
    for element in values:
        if isinstance(element, bool | list | dict):
            raise UsageError(f"{origin}: expected a text or a number for {name}, found {element!r}")
    return list(map(str, values)) if option.multiple else str(value)


def variable_name(*words: str) -> str:
    """Return the environment variable for an option, or for an option of a command."""
    return "_".join(("BINX", *words)).replace("-", "_").upper()


def unknown(kind: str, name: str, names: Collection[str]) -> str:
    """Return the message for an unknown name, with a suggestion."""
    return f"no {kind} {name!r}{did_you_mean(name, names)}"
