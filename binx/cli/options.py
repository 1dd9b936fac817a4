"""Options that commands share, and the shape of a command: sections and examples in its help."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from binx.errors import BinxError, UsageError
from binx.event.gtid_set import GtidSet
from binx.log.moments import format_time, parse_position, parse_time
from binx.log.selection import Selection

if TYPE_CHECKING:
    from binx.rows.catalog import Catalog

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

SELECTION = "Which transactions"
OUTPUT = "Output"
OTHER = "Other"

_SIZE = re.compile(r"(\d{1,18})\s*([KMGT]?)(i?B)?", re.IGNORECASE)
_SIZE_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
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
    """

    def __init__(
        self, *args: Any, examples: Sequence[Example] = (), details: Sequence[str] = (), **kwargs: Any
    ) -> None:
        kwargs.setdefault(
            "context_settings", {"max_content_width": _WIDTH, "help_option_names": ["-h", "--help"]}
        )
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.details = tuple(details)

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
    name: str, *, examples: Sequence[Example], details: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(name, cls=Command, examples=examples, details=details)(function)

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


def _gtid_set(text: str) -> GtidSet:
    gtids = GtidSet.parse(text)
    if gtids.is_empty:
        raise UsageError("expected a set of GTIDs, found an empty text")
    return gtids


def parse_size(text: str) -> int:
    """A number of bytes, with K, M, G or T for powers of 1024.

    Raises:
        UsageError: the text is no such number.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"expected a number of bytes, such as 4096, 64K or 10M, found {text!r}")
    return int(found[1]) << _SIZE_SHIFTS[found[2].upper()]


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

FILES = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, allow_dash=True)
)

NO_CHECKSUMS = option("--no-checksums", is_flag=True, help="Do not compare checksums of events.")
SCHEMA = option(
    "--schema",
    metavar="FILE",
    type=click.Path(readable=False),
    section=OUTPUT,
    help="Tables' definitions, as mysqldump --no-data writes them.",
)
QUIET = option("-q", "--quiet", is_flag=True, help="Print nothing but data and errors.")

_SELECTION_OPTIONS = combined(
    option(
        "--gtid",
        "gtids",
        metavar="SET",
        multiple=True,
        type=Parsed("set", _gtid_set),
        section=SELECTION,
        help="These: uuid:1-5:7, uuid:tag:1-3, 0-1-100..200; several by commas.",
    ),
    option(
        "--exclude-gtid",
        "exclude_gtids",
        metavar="SET",
        multiple=True,
        type=Parsed("set", _gtid_set),
        section=SELECTION,
        help="Not these.",
    ),
    option(
        "--since",
        metavar="TIME",
        type=Parsed("time", parse_time),
        section=SELECTION,
        help="Committed then or later. UTC where no zone is given.",
    ),
    option(
        "--until",
        metavar="TIME",
        type=Parsed("time", parse_time),
        section=SELECTION,
        help="Committed before then.",
    ),
    option(
        "--start-position",
        "start",
        metavar="POS",
        type=Parsed("position", parse_position),
        section=SELECTION,
        help="From there on: POS, or FILE:POS where there are several files.",
    ),
    option(
        "--stop-position",
        "stop",
        metavar="POS",
        type=Parsed("position", parse_position),
        section=SELECTION,
        help="Up to there.",
    ),
    option(
        "--db",
        "databases",
        metavar="GLOB",
        multiple=True,
        section=SELECTION,
        help="Touching a table of such a database.",
    ),
    option(
        "--table",
        "tables",
        metavar="DB.TABLE",
        multiple=True,
        section=SELECTION,
        help="Touching such a table; * and ? match: 'shop.*'.",
    ),
    option(
        "--server-id",
        "server_ids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="Made on this server.",
    ),
    option(
        "--thread-id",
        "thread_ids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="Made by this connection.",
    ),
    option(
        "--xid",
        "xids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="With this number of the storage engine's commit.",
    ),
    option(
        "--min-bytes",
        metavar="SIZE",
        type=Parsed("size", parse_size),
        section=SELECTION,
        help="Taking at least so much in the file: 4096, 64K, 10M.",
    ),
    option("--limit", metavar="N", type=COUNT, section=SELECTION, help="The first N of those."),
)

_SELECTION_NAMES = (
    "gtids",
    "exclude_gtids",
    "since",
    "until",
    "start",
    "stop",
    "databases",
    "tables",
    "server_ids",
    "thread_ids",
    "xids",
    "min_bytes",
    "limit",
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which transactions; the function gets them as one ``selection``."""

    def with_selection(**values: Any) -> Any:
        chosen = {name: values.pop(name) for name in _SELECTION_NAMES}
        for name in ("gtids", "exclude_gtids"):
            sets: tuple[GtidSet, ...] = chosen[name]
            chosen[name] = _union(sets) if sets else None
        return function(selection=Selection(**chosen), **values)

    with_selection.__doc__ = function.__doc__
    with_selection.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    decorated: Callable[..., Any] = _SELECTION_OPTIONS(with_selection)
    return decorated


def _union(sets: Sequence[GtidSet]) -> GtidSet:
    whole = GtidSet()
    for one in sets:
        whole |= one
    return whole


def understood(selection: Selection) -> list[str]:
    """How the times of a selection were understood."""
    since, until = selection.since, selection.until
    if since is None and until is None:
        return []
    first = "" if since is None else f" from {format_time(since)}"
    last = "" if until is None else f" to before {format_time(until)}"
    return [f"transactions committed{first}{last} (UTC)"]


def known_tables(schema: str | None) -> tuple[Catalog | None, list[str]]:
    """The tables that ``--schema`` names, and what of it was not understood."""
    if schema is None:
        return None, []
    from binx.export.known_tables import read_dump

    return read_dump(schema)
