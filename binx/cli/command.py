"""Extend click's commands and options with help sections, examples, and user-defined defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import click
from click.formatting import wrap_text

from binx.cli.defaults import SHARED, read_config, settings_of, variable_name
from binx.errors import BinxError

OUTPUT = "Output"
OTHER = "Other"
BRIEF_HELP, HELP = HELP_NAMES = ("-h", "--help")

_WIDTH = 92
_NAMES_WIDTH = 26
_BRIEF_EXAMPLES = 2
_SHELL_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+\s*""")
_CONTINUED = " \\"
_CONTINUATION = re.compile(r"\s*\\\n\s*")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Example(NamedTuple):
    """A command line, and its purpose."""

    purpose: str
    line: str


class Option(click.Option):
    """An option with a section in its command's help."""

    def __init__(self, names: Sequence[str], *args: Any, section: str = OUTPUT, **settings: Any) -> None:
        settings.setdefault("show_default", settings.get("default") is not None)
        super().__init__(names, *args, **settings)
        self.section = section
        self.long_name = next(name for name in self.opts if name.startswith("--")).removeprefix("--")

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option's name in messages, without mysqlbinlog's."""
        return f"'--{self.long_name}'"

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return click's additions to the help without ranges, which the help texts give if relevant."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Command(click.Command):
    """A command whose help has sections and examples.

    In the environment and in the configuration file, its options have their long names.

    Args:
        brief: long names of the options that ``-h`` shows, separated by blanks; all if empty.
    """

    def __init__(
        self,
        name: str,
        *,
        examples: Sequence[Example],
        takes_defaults: bool = True,
        brief: str = "",
        **settings: Any,
    ) -> None:
        context = {"max_content_width": _WIDTH, "help_option_names": [HELP]}
        super().__init__(name, context_settings=context, **settings)
        self.examples = tuple(examples)
        self.brief = frozenset(brief.split())
        self.params.append(_brief_help_option())
        self.takes_defaults = takes_defaults
        for long_name, option in self.options.items():
            variables = [variable_name(name, long_name)]
            if long_name in SHARED:
                variables.append(variable_name(long_name))
            option.envvar = [*variables, *([option.envvar] if isinstance(option.envvar, str) else ())]

    @property
    def options(self) -> dict[str, Option]:
        """The options that may have defaults, by their long names."""
        options = (option for option in self.params if isinstance(option, Option) and not option.hidden)
        return {option.long_name: option for option in options} if self.takes_defaults else {}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Create a context with defaults from the configuration file.

        Raises:
            UsageError: the file is invalid.
        """
        is_run = not extra.get("resilient_parsing") and not set(args).intersection(HELP_NAMES)
        if is_run and self.takes_defaults:
            settings = settings_of(self.name or "", self.options, read_config())
            extra["default_map"] = {self.options[name].name: value for name, (value, _) in settings.items()}
        return super().make_context(info_name, args, parent, **extra)

    def sections(self, ctx: click.Context) -> dict[str, list[click.Parameter]]:
        """Return the options by section, the common ones last."""
        sections: dict[str, list[click.Parameter]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and not parameter.hidden:
                sections.setdefault(getattr(parameter, "section", OTHER), []).append(parameter)
        sections[OTHER] = sections.pop(OTHER, [])
        return sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section; for brief help, those that matter."""
        is_brief = ctx.meta.get(BRIEF_HELP, False)
        for title, parameters in self.sections(ctx).items():
            records = [
                record
                for entry in parameters
                if not is_brief or not self.brief or getattr(entry, "long_name", "") in self.brief
                if (record := entry.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_NAMES_WIDTH)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as command lines."""
        is_brief = ctx.meta.get(BRIEF_HELP, False)
        formatter.write("\nExamples:\n")
        for example in self.examples[:_BRIEF_EXAMPLES] if is_brief else self.examples:
            formatter.write(wrap_text(example.purpose, formatter.width, "  # ", "  # ") + "\n")
            formatter.write("".join(f"{line}\n" for line in _shell_lines(example.line, formatter.width)))
        if is_brief and (self.brief or len(self.examples) > _BRIEF_EXAMPLES):
            formatter.write(f"\nAll options and examples: {ctx.command_path} {HELP}\n")


def _brief_help_option() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
        if is_wanted and not ctx.resilient_parsing:
            ctx.meta[BRIEF_HELP] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        [BRIEF_HELP, "brief_help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        allow_from_autoenv=False,
        callback=show,
        help="Show the options that matter most, and exit.",
    )


def _shell_lines(text: str, width: int) -> Iterator[str]:
    """Yield a command line, continued where the width ends, but not within quotes."""
    for number, line in enumerate(_CONTINUATION.sub(" ", text).split("\n")):
        shown = "    " if number else "  "
        for part in _SHELL_WORD.findall(line.strip()):
            if shown.strip() and len(shown) + len(part) > width - len(_CONTINUED):
                yield shown.rstrip() + _CONTINUED
                shown = "    "
            shown += part
        yield shown.rstrip()


class _Path(click.Path):
    """The path of a file or folder, which need not exist."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; an unset shell variable counts as not given."""
        if not value:
            self.fail("expected a path, found an empty text", param, ctx)
        return value


class _WholeNumber(click.IntRange):
    """A whole number, shown as N in help."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; one below the range is told the least."""
        number: int = click.INT.convert(value, param, ctx)
        if self.min is not None and number < self.min:
            self.fail(f"expected a number of at least {self.min:g}, found {number}", param, ctx)
        return int(super().convert(number, param, ctx))


PATH = _Path(allow_dash=True)
"""A path or a URI, opened by the command itself."""

NUMBER = _WholeNumber(min=0)
COUNT = _WholeNumber(min=1, max=2**63 - 1)


def parsed(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return an option type whose values the library parses, with its own error messages."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except BinxError as error:
            raise click.BadParameter(error.message) from error
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return convert


def offered(
    words: Iterable[str] | Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a completer for an option's value, or for the last of comma-separated values."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        found = words() if callable(words) else words
        return [f"{before}{comma}{word}" for word in found if word.startswith(last)]

    return complete


def command(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Turn a function into a command, with its docstring as help; see :class:`Command`."""
    return click.command(name, cls=Command, **settings)


def option(*names: str, **settings: Any) -> Callable[[_Function], _Function]:
    """Add an option to a command, such as ``--since TIME``; see :class:`Option`."""
    plain, metavars = zip(*(name.partition(" ")[::2] for name in names), strict=True)
    settings.setdefault("metavar", next(filter(None, metavars), None))
    return click.option(*plain, cls=Option, **settings)


def flag(
    name: str, help_text: str, variable: str | None = None, section: str = OUTPUT
) -> Callable[[Any], Any]:
    """Add an option without a value to a command."""
    names = (name,) if variable is None else (name, variable)
    return option(*names, is_flag=True, help=help_text, section=section)


def combined(*decorators: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    """Combine several options into one decorator, in the order of the help."""

    def decorate(function: _Function) -> _Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
