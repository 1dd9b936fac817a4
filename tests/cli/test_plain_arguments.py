"""Plain command lines mean to the reading without click what they mean to click."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.cli.click_commands import ClickCommand
from binx.cli.commands import ENTRIES, load_command
from binx.cli.declaration import Choice, Command, Option, Parsed, Value
from binx.cli.plain_arguments import plain_values
from binx.export.where import Condition

COMMANDS = {entry.name: load_command(entry.name) for entry in ENTRIES}

TEXTS = (
    "",
    "-",
    "--",
    "-1",
    "--json",
    "0",
    "7",
    "64",
    "64K",
    "mysql-bin.000001",
    "mysql-bin.000001:4711",
    "2026-11-21 09:30",
    "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5",
    "0-1-100..200",
    "time,size",
    "size:desc",
    "hour,table",
    "Europe/Berlin",
    "QUERY",
    "status = 'paid'",
    "shop.orders",
    "shop.orders=id",
    "spark.x=1",
    "lake",
    "s3://bucket/lake",
    "colour",
)
"""What may stand on a command line, right for some options and wrong for others."""


@contextmanager
def acts(command: Command) -> Iterator[dict[str, Any]]:
    """What the options that act were given, none of which acts meanwhile."""
    acting = {one: one.act for one in command.options if one.act is not None}
    seen: dict[str, Any] = {}
    for one in acting:
        one.act = lambda value, name=one.name: seen.update({name: value})
    try:
        yield seen
    finally:
        for one, act in acting.items():
            one.act = act


def by_click(command: Command, arguments: list[str]) -> dict[str, Any] | None:
    """The values of all parameters, None where click has something to say."""
    with acts(command) as seen:
        try:
            with ClickCommand(command).make_context(command.name, list(arguments)) as context:
                return {**context.params, **seen}
        except (click.ClickException, click.exceptions.Exit):
            return None


def without_click(command: Command, arguments: list[str]) -> dict[str, Any] | None:
    values = plain_values(command, arguments)
    return None if values is None else {one.name: value for one, value in values.items()}


def comparable(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Values that are equal where they mean the same; conditions are equal where their texts are."""
    return values and {
        name: value.text if isinstance(value, Condition) else value for name, value in values.items()
    }


def is_right(value: Value, text: str) -> bool:
    """Whether a text stands for a value."""
    try:
        value.read(text)
    except Exception:
        return False
    return True


def texts_of(value: Value) -> list[str]:
    """Texts that a plain command line may give."""
    known = value.words if isinstance(value, Choice) else TEXTS
    return [text for text in known if not text.startswith("-") and is_right(value, text)]


def spellings(option: Option, text: str) -> list[list[str]]:
    """The ways in which an option can be typed, the rare and the wrong ones too."""
    typed: list[list[str]] = []
    for name in option.names:
        typed += [
            [name],
            [name, text],
            [f"{name}={text}"],
            [f"{name}{text}"],
            [f"{name}q"],
            [name[:-1], text],
        ]
        typed += [
            [name[:-1], text],
            [name, "--", text],
            [name, text, name, text],
            [name, name],
            [f"{name}="],
            ["--", name],
        ]
    return typed


def least(command: Command) -> list[str]:
    """The shortest command line that a command takes."""
    words: list[str] = []
    for one in command.parameters:
        if one.required or not isinstance(one, Option):
            words += [one.names[0]] if isinstance(one, Option) else []
            words.append(texts_of(one.value)[0])
    return words


@st.composite
def plain_pieces(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A command, and what people type behind it, with nothing wrong."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    pieces: list[list[str]] = []
    for one in COMMANDS[name].parameters:
        text = st.sampled_from(texts_of(one.value))
        if isinstance(one, Option):
            if one.alone is None and (one.required or draw(st.integers(0, 4)) == 0):
                for _ in range(draw(st.integers(1, 2 if one.multiple else 1))):
                    typed = draw(st.sampled_from(one.names))
                    joined = typed.startswith("--") and draw(st.booleans())
                    words = [f"{typed}={draw(text)}"] if joined else [typed, draw(text)]
                    pieces.append([typed] if one.is_flag else words)
        else:
            pieces += [[draw(text)] for _ in range(draw(st.integers(1, 3 if one.multiple else 1)))]
    return name, pieces


@st.composite
def plain_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command line as people type it."""
    name, pieces = draw(plain_pieces())
    return name, [word for piece in draw(st.permutations(pieces)) for word in piece]


@st.composite
def odd_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command line with something odd in it, that may be wrong."""
    name, pieces = draw(plain_pieces())
    option = draw(st.sampled_from(COMMANDS[name].options))
    text = draw(st.sampled_from([*TEXTS, *texts_of(option.value)]))
    odd = draw(
        st.sampled_from([*spellings(option, text), [text], ["-h"], ["--help"], ["-qv"], ["--nothing"]])
    )
    pieces = draw(st.permutations([*pieces, odd]))
    if draw(st.booleans()):
        pieces.remove(draw(st.sampled_from(pieces)))
    return name, [word for piece in pieces for word in piece]


@pytest.mark.parametrize("name", COMMANDS)
def test_however_an_option_is_typed_what_is_read_without_click_is_what_click_reads(name: str) -> None:
    command = COMMANDS[name]
    plain_ones = 0
    for option in command.options:
        for text in ("colour", texts_of(option.value)[0]):
            for typed in spellings(option, text):
                for words in ([*typed, *least(command)], [*least(command), *typed]):
                    plain = without_click(command, words)
                    assert plain is None or comparable(plain) == comparable(by_click(command, words)), words
                    plain_ones += plain is not None
    assert plain_ones > len(command.options)


@given(odd_lines())
def test_what_is_read_without_click_is_what_click_reads(line: tuple[str, list[str]]) -> None:
    name, words = line
    plain = without_click(COMMANDS[name], words)
    assert plain is None or comparable(plain) == comparable(by_click(COMMANDS[name], words))


@given(plain_lines())
def test_plain_lines_need_no_click(line: tuple[str, list[str]]) -> None:
    name, words = line
    plain = without_click(COMMANDS[name], words)
    assert plain is not None
    assert comparable(plain) == comparable(by_click(COMMANDS[name], words))


@pytest.mark.parametrize(
    "settings",
    [
        {"BINX_QUIET": "yes", "BINX_LS_TABLE": "shop.*", "BINX_LS_LIMIT": "3"},
        {"BINX_TZ": "Europe/Berlin", "BINX_LS_SORT": "size"},
        {"BINX_INDEX_DIR": "elsewhere"},
        {"BINX_LS_LIMIT": "many"},
    ],
)
@pytest.mark.parametrize("words", [["a"], ["a", "--limit", "5", "--table", "shop.orders"]])
def test_defaults_that_are_set_hold_for_both(
    settings: dict[str, str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINX_CONFIG", "")
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    plain, clicked = without_click(COMMANDS["ls"], words), by_click(COMMANDS["ls"], words)
    assert plain == clicked
    assert (plain is None) == ("many" in settings.values() and "--limit" not in words)


def test_each_parsed_value_has_texts_that_are_tried() -> None:
    """So that the tests above try options of every sort."""
    values = {one.value for command in COMMANDS.values() for one in command.parameters}
    assert all(texts_of(value) for value in values)
    assert any(isinstance(value, Parsed) for value in values)
