"""What commands are called with, as plain data.

Both click's commands and the reading of plain command lines, which does without click, are made of it.
Nothing that takes long to load is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binx.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])
    Decorator = Callable[[Function], Function]

OUTPUT = "Output"
OTHER = "Other"

_PARAMETERS = "declared_parameters"


class Value:
    """What an argument or the value of an option is: a text."""

    def read(self, text: str) -> Any:
        """The value that a text stands for.

        Raises:
            UsageError: it stands for none.
        """
        return text


class FilePath(Value):
    """The path of a file or folder, which need not be there."""

    def read(self, text: str) -> str:
        """The path.

        Raises:
            UsageError: the text is empty, as that of a shell's variable that is not set.
        """
        if not text:
            raise UsageError("expected a path, found an empty text")
        return text


class Choice(Value):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, text: str) -> str:
        """The word."""
        if text not in self.words:
            raise UsageError(f"expected one of {', '.join(self.words)}, found {text!r}")
        return text


class Parsed(Value):
    """A text that the library understands, or refuses with its own words.

    Args:
        name: what help calls it.
        parse: gives the value, or raises UsageError.
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def read(self, text: str) -> Any:
        """The value."""
        return self._parse(text)


class Parameter:
    """An option or an argument.

    Attributes:
        name: the parameter of the command's function that takes the value.
        value: what it is.
        metavar: what help calls its value; None for a flag, or where the value tells.
        default: the text that holds where none is given.
        required: whether the command cannot do without.
        multiple: whether all values that are given are taken, as a tuple.
    """

    def __init__(
        self,
        name: str,
        *,
        value: Value,
        metavar: str | None,
        default: str | None,
        required: bool,
        multiple: bool,
    ) -> None:
        self.name = name
        self.value = value
        self.metavar = metavar
        self.default = default
        self.required = required
        self.multiple = multiple


class Argument(Parameter):
    """What has its place on the command line and no name there; with ``multiple``, all that is left."""


class Option(Parameter):
    """What is given by name.

    Attributes:
        names: as they are typed, with their hyphens.
        help: what it does.
        section: the title under which help shows it.
        is_flag: whether it has no value: it is given or not.
        alone: the text that holds where the option is given without a value; None where it must have one.
        show_default: whether help shows the default.
        hidden: whether help is silent about it.
        variable: the variable of the environment that is stronger than all other defaults.
        act: takes the value, in place of the command's function.
        completes: what of the logs on the command line a shell offers for its value.
    """

    def __init__(
        self,
        *names: str,
        name: str | None = None,
        help: str = "",  # noqa: A002 - the word that readers of declarations know
        section: str = OTHER,
        metavar: str | None = None,
        value: Value | None = None,
        default: str | None = None,
        show_default: bool = False,
        is_flag: bool = False,
        alone: str | None = None,
        multiple: bool = False,
        required: bool = False,
        hidden: bool = False,
        variable: str | None = None,
        act: Callable[[Any], None] | None = None,
        completes: str | None = None,
    ) -> None:
        self.names = names
        self.long_name = names[-1].removeprefix("--")
        super().__init__(
            name or self.long_name.replace("-", "_"),
            value=value or Value(),
            metavar=metavar,
            default=default,
            required=required,
            multiple=multiple,
        )
        self.help = help
        self.section = section
        self.is_flag = is_flag
        self.alone = alone
        self.show_default = show_default
        self.hidden = hidden
        self.variable = variable
        self.act = act
        self.completes = completes


class Example:
    """A command line, and what it is for."""

    def __init__(self, purpose: str, line: str) -> None:
        self.purpose = purpose
        self.line = line


class Command:
    """A command, and what it is called with.

    Attributes:
        name: what is typed behind ``binx``.
        function: does it; takes the values by name, and returns the exit code.
        help: what it does.
        parameters: in the order in which help shows them.
        examples: what a person will want first.
        details: paragraphs that only the manual page has.
        takes_defaults: whether users may set defaults of its options.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        examples: Sequence[Example],
        details: Sequence[str],
        takes_defaults: bool,
    ) -> None:
        self.name = name
        self.function = function
        self.help = function.__doc__ or ""
        self.parameters: tuple[Parameter, ...] = tuple(getattr(function, _PARAMETERS, ()))
        self.examples = tuple(examples)
        self.details = tuple(details)
        self.takes_defaults = takes_defaults

    @property
    def options(self) -> list[Option]:
        """Those of its parameters that have names."""
        return [one for one in self.parameters if isinstance(one, Option)]


def command(
    name: str, *, examples: Sequence[Example], details: Sequence[str] = (), takes_defaults: bool = True
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return Command(name, function, examples=examples, details=details, takes_defaults=takes_defaults)

    return decorate


def option(*names: str, **settings: Any) -> Decorator[Any]:
    """Give a command's function an option; see :class:`Option`."""
    return _giving(Option(*names, **settings))


def argument(
    name: str,
    *,
    metavar: str,
    value: Value | None = None,
    default: str | None = None,
    required: bool = True,
    multiple: bool = False,
) -> Decorator[Any]:
    """Give a command's function an argument; see :class:`Argument`."""
    one = Argument(
        name, value=value or Value(), metavar=metavar, default=default, required=required, multiple=multiple
    )
    return _giving(one)


def combined(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several parameters as one decorator, in the order in which help shows them."""

    def decorate(function: Any) -> Any:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


def _giving(parameter: Parameter) -> Decorator[Any]:
    def decorate(function: Any) -> Any:
        # The decorator that stands last is applied first.
        setattr(function, _PARAMETERS, (parameter, *getattr(function, _PARAMETERS, ())))
        return function

    return decorate
