"""Options that commands share, and the shape of a command: sections and examples in its help."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from binx.cli.defaults import defaults_of
from binx.cli.terminal import say_note
from binx.errors import BinxError, UsageError
from binx.log.steps import listen
from binx.log.zones import parse_zone

if TYPE_CHECKING:
    from binx.rows.catalog import Catalog

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

OUTPUT = "Output"
OTHER = "Other"

_HELP = frozenset({"-h", "--help"})
_WIDTH = 92
_DIGITS = 20


class Example(NamedTuple):
    """A command line, and what it is for."""

    purpose: str
    line: str


class Option(click.Option):
    """An option that stands in a section of its command's help.

    Args:
        section: the section's title.
    """

    def __init__(self, *args: Any, section: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """A command whose help has sections and examples.

    Args:
        examples: what a person will want first.
        details: paragraphs that only the manual page has.
        takes_defaults: whether users may set defaults of its options.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[Example] = (),
        details: Sequence[str] = (),
        takes_defaults: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault(
            "context_settings", {"max_content_width": _WIDTH, "help_option_names": ["-h", "--help"]}
        )
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.details = tuple(details)
        self.takes_defaults = takes_defaults

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """A context whose defaults are those that the user has set."""
        if self.takes_defaults and not _HELP.intersection(args) and not extra.get("resilient_parsing"):
            extra.setdefault("default_map", defaults_of(self))
        return super().make_context(info_name, args, parent, **extra)

    def sections(self, ctx: click.Context) -> dict[str, list[click.Parameter]]:
        """The options by section, the common ones last."""
        sections: dict[str, list[click.Parameter]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and not parameter.hidden:
                sections.setdefault(getattr(parameter, "section", OTHER), []).append(parameter)
        sections[OTHER] = sections.pop(OTHER, [])
        return sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section."""
        for title, parameters in self.sections(ctx).items():
            records = [record for one in parameters if (record := one.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they would be typed."""
        if self.examples:
            formatter.write("\nExamples:\n")
            for example in self.examples:
                formatter.write(f"  # {example.purpose}\n  {example.line}\n")


def command(
    name: str, *, examples: Sequence[Example], details: Sequence[str] = (), takes_defaults: bool = True
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(
            name, cls=Command, examples=examples, details=details, takes_defaults=takes_defaults
        )(function)

    return decorate


def option(*names: str, section: str = OTHER, **settings: Any) -> Decorator[Any]:
    """An option in a section."""
    return click.option(*names, cls=Option, section=section, **settings)


def combined(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(function: Any) -> Any:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType


class Parsed(_ParamType):
    """A text that the library understands, or refuses with its own words.

    Args:
        name: what help calls it.
        parse: gives the value, or raises BinxError.
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except BinxError as error:
            self.fail(error.message, param, ctx)


def _whole_number(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > _DIGITS:
        raise UsageError(f"expected a whole number, found {text!r}")
    return int(text)


def _count(text: str) -> int:
    number = _whole_number(text)
    if number == 0:
        raise UsageError("expected a number of at least 1, found 0")
    return number


NUMBER = Parsed("number", _whole_number)
COUNT = Parsed("count", _count)


def _to_environment(variable: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """An option that sets a variable, so that processes that are started for the work see it too."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        paths = value if isinstance(value, tuple) else (value,) if value is not None else ()
        if paths:
            os.environ[variable] = os.pathsep.join(str(Path(path).absolute()) for path in paths)

    return callback


_FILES = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, allow_dash=True)
)
_KEYRING = option(
    "--keyring",
    metavar="FILE",
    type=click.Path(readable=False),
    multiple=True,
    expose_value=False,
    callback=_to_environment("BINX_KEYRING"),
    help="The server's keyring file, for encrypted logs; may be given several times.",
)
_KEY_FILE = option(
    "--key-file",
    metavar="FILE",
    type=click.Path(readable=False),
    expose_value=False,
    callback=_to_environment("BINX_KEY_FILE"),
    help="A file with one key of 32 bytes or 64 hex digits, for encrypted logs.",
)
KEYS = combined(_KEYRING, _KEY_FILE)
"""The keys of encrypted files."""


def _tell_steps(_context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    listen(say_note if asked else None)


VERBOSE = option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_tell_steps,
    help="Tell what is done with each file, and why.",
)

FILES = combined(_FILES, VERBOSE, KEYS)
"""The files that a command reads, whether to tell of them, and the keys of those that are encrypted."""

NO_CHECKSUMS = option("--no-checksums", is_flag=True, help="Do not compare checksums of events.")
ON_DAMAGE = option(
    "--on-damage",
    type=click.Choice(["stop", "salvage"]),
    default="stop",
    show_default=True,
    help="Where a log is damaged: stop, or take what is whole and list the rest.",
)
SCHEMA = option(
    "--schema",
    metavar="FILE",
    type=click.Path(readable=False),
    section=OUTPUT,
    help="Tables' definitions, as mysqldump --no-data writes them.",
)
ZONE = option(
    "--tz",
    "zone",
    metavar="ZONE",
    type=Parsed("zone", parse_zone),
    default="UTC",
    show_default=True,
    section=OUTPUT,
    help="Show times in this zone: Europe/Berlin, +02:00, local.",
)
QUIET = option("-q", "--quiet", is_flag=True, help="Print nothing but data and errors.")


def known_tables(schema: str | None) -> tuple[Catalog | None, list[str]]:
    """The tables that ``--schema`` names, and what of it was not understood."""
    if schema is None:
        return None, []
    from binx.export.known_tables import read_dump

    return read_dump(schema)
