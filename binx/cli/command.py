"""Commands and options: click's, with sections and examples in the help, and defaults that users set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from binx.cli.defaults import SHARED, Setting, read_config, settings_of, variable_name
from binx.cli.pager import NO_PAGER, paged
from binx.errors import BinxError, UsageError

OUTPUT = "Output"
OTHER = "Other"
HELP_NAMES = ("-h", "--help")

_WIDTH = 92
_NAMES_WIDTH = 26

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Example(NamedTuple):
    """A command line, and what it is for."""

    purpose: str
    line: str


class Option(click.Option):
    """An option that stands in a section of its command's help.

    In the environment and in the file of defaults it has its long name.
    """

    def __init__(
        self,
        names: Sequence[str],
        *args: Any,
        section: str = OUTPUT,
        aliases: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(names, *args, **settings)
        self.section = section
        self.aliases = tuple(aliases)
        self.long_name = next(name for name in self.opts if name.startswith("--")).removeprefix("--")
        if self.long_name in SHARED:
            self.envvar = variable_name(self.long_name)

    def variable(self, ctx: click.Context) -> str | None:
        """The strongest variable of the environment that sets this option: the command's own."""
        names = [f"{ctx.auto_envvar_prefix}_{self.long_name}".replace("-", "_").upper(), self.envvar]
        return next((name for name in names if isinstance(name, str) and os.environ.get(name)), None)

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The text in the environment."""
        name = self.variable(ctx)
        return None if name is None else os.environ[name]

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """The value in the environment: of paths there may be several, other texts may have spaces."""
        text = self.resolve_envvar_value(ctx)
        if text is None or not self.multiple:
            return text
        return text.split(os.pathsep) if isinstance(self.type, click.Path) else [text]

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Take the option by all of its names."""
        names, self.opts = self.opts, [*self.opts, *self.aliases]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = names

    def get_help_extra(self, ctx: click.Context) -> Any:
        """What click adds to the help, without ranges, which the help tells where it matters."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra

    def from_file(self, setting: Setting) -> Any:
        """A value of the file of defaults as click takes it.

        Raises:
            UsageError: it is no value of such an option.
        """
        if self.is_flag:
            return setting.value
        values = setting.value if self.multiple and isinstance(setting.value, list) else [setting.value]
        for value in values:
            if isinstance(value, bool | list | dict):
                raise UsageError(
                    f"{setting.origin}: expected a text or a number for {self.long_name}, found {value!r}"
                )
        return [str(value) for value in values] if self.multiple else str(setting.value)


class Command(click.Command):
    """A command whose help has sections and examples."""

    def __init__(
        self,
        name: str,
        *,
        examples: Sequence[Example],
        takes_defaults: bool = True,
        **settings: Any,
    ) -> None:
        context = {"max_content_width": _WIDTH, "help_option_names": list(HELP_NAMES)}
        super().__init__(name, context_settings=context, **settings)
        self.examples = tuple(examples)
        self.takes_defaults = takes_defaults

    @property
    def options(self) -> dict[str, Option]:
        """The options that may have defaults, by their long names."""
        options = (one for one in self.params if isinstance(one, Option) and not one.hidden)
        return {one.long_name: one for one in options} if self.takes_defaults else {}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """A context whose defaults are those of the file.

        Raises:
            UsageError: the file cannot be understood.
        """
        is_run = not extra.get("resilient_parsing") and not set(args).intersection(HELP_NAMES)
        if is_run and self.takes_defaults:
            settings = settings_of(self.name or "", self.options, read_config())
            extra["default_map"] = {
                self.options[name].name: self.options[name].from_file(one) for name, one in settings.items()
            }
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; where it may have long output, in a pager."""
        if NO_PAGER not in ctx.meta:
            return super().invoke(ctx)
        with paged():
            return super().invoke(ctx)

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
                    formatter.write_dl(records, col_max=_NAMES_WIDTH)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they would be typed."""
        if self.examples:
            formatter.write("\nExamples:\n")
            for example in self.examples:
                formatter.write(f"  # {example.purpose}\n  {example.line}\n")


class _Path(click.Path):
    """The path of a file or folder, which need not be there."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What help calls it."""
        return "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; a variable of a shell that is not set is none."""
        if not value:
            self.fail("expected a path, found an empty text", param, ctx)
        return value


PATH = _Path(allow_dash=True)
"""A path or a URI, which the command itself opens."""


def parsed(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """The type of an option whose texts the library understands, or refuses with its own words."""

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


def offered(words: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What shells complete an option's value with, the last of several with commas between."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words if word.startswith(last)]

    return complete


def command(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command, whose docstring is the help; see :class:`Command`."""
    return click.command(name, cls=Command, **settings)


def option(*names: str, **settings: Any) -> Callable[[_Function], _Function]:
    """Give a command an option; see :class:`Option`."""
    return click.option(*names, cls=Option, **settings)


def combined(*decorators: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(function: _Function) -> _Function:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate
