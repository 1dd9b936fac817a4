"""Commands as click has them: it tells what is wrong on a command line, writes the help, and completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from binx.cli.declaration import OTHER, Choice, Command, FilePath, Option, Parameter, Parsed, Value
from binx.cli.defaults import defaults_of
from binx.errors import BinxError

_HELP = ("-h", "--help")
_WIDTH = 92


class ClickOption(click.Option):
    """An option that stands in a section of its command's help.

    Args:
        section: the section's title.
    """

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class ClickCommand(click.Command):
    """A command whose help has sections and examples.

    Attributes:
        declared: what it is made of.
    """

    def __init__(self, declared: Command) -> None:
        super().__init__(
            declared.name,
            callback=declared.function,
            params=[_parameter(one) for one in declared.parameters],
            help=declared.help,
            context_settings={"max_content_width": _WIDTH, "help_option_names": list(_HELP)},
        )
        self.declared = declared

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """A context whose defaults are those that the user has set."""
        asks_help = any(name in args for name in _HELP)
        if self.declared.takes_defaults and not asks_help and not extra.get("resilient_parsing"):
            extra.setdefault("default_map", defaults_of(self.declared))
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
        if self.declared.examples:
            formatter.write("\nExamples:\n")
            for example in self.declared.examples:
                formatter.write(f"  # {example.purpose}\n  {example.line}\n")


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType


class _Parsed(_ParamType):
    """A text that the library understands, or refuses with its own words."""

    def __init__(self, value: Parsed) -> None:
        self.name = value.name
        self._value = value

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value."""
        if not isinstance(value, str):
            return value
        try:
            return self._value.read(value)
        except BinxError as error:
            self.fail(error.message, param, ctx)


class _Path(click.Path):
    """A path, which a shell completes."""

    def __init__(self, value: FilePath) -> None:
        super().__init__(readable=False, allow_dash=True)
        self._value = value

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        try:
            return self._value.read(value)
        except BinxError as error:
            self.fail(error.message, param, ctx)


def _type(value: Value) -> _ParamType:
    match value:
        case Parsed():
            return _Parsed(value)
        case Choice():
            return click.Choice(value.words)
        case FilePath():
            return _Path(value)
        case _:
            return click.STRING


def _parameter(declared: Parameter) -> click.Parameter:
    settings: dict[str, Any] = {
        "type": _type(declared.value),
        "metavar": declared.metavar,
        "required": declared.required,
    }
    if declared.default is not None:
        settings["default"] = declared.default
    if not isinstance(declared, Option):
        return click.Argument([declared.name], nargs=-1 if declared.multiple else 1, **settings)
    if declared.is_flag:
        settings |= {"type": None, "is_flag": True}
    if declared.alone is not None:
        settings |= {"is_flag": False, "flag_value": declared.alone}
    if declared.act is not None:
        settings |= {"expose_value": False, "callback": _acting(declared.act)}
    if declared.completes is not None:
        settings["shell_complete"] = _completing(declared.completes)
    return ClickOption(
        [*declared.names, declared.name],
        section=declared.section,
        multiple=declared.multiple,
        show_default=declared.show_default,
        hidden=declared.hidden,
        envvar=declared.variable,
        help=declared.help,
        **settings,
    )


def _acting(act: Callable[[Any], None]) -> Callable[..., None]:
    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        act(value)

    return callback


def _completing(what: str) -> Callable[..., Any]:
    """Completes an option from the files on the command line; loaded when a shell asks."""

    def complete(*arguments: Any) -> Any:
        from binx.cli import completion

        return getattr(completion, f"complete_{what}")(*arguments)

    return complete
