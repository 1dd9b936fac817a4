"""Generate the manual pages in man(7) macros: ``python -m binx.cli.manpages man docs``.

They are generated from the commands, and from ``docs/commands``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from binx.cli.application import DESCRIPTION, ENTRIES, EXAMPLES, PROGRAM, application, load_command
from binx.cli.command import Command, Example
from binx.version import __version__

_SECTION = 1
_COMMON = "binx.md"
_ESCAPES = str.maketrans(
    {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
)
_CODE = re.compile(r"`([^`]+)`")
_REFERENCE = re.compile(r"\b([a-z][a-z-]*)\((\d)\)")
_DEFINITION = re.compile(r"- `([^`]+)`: (.+)")


def pages(docs: Path) -> dict[str, str]:
    """Return all pages by file name, with paragraphs from the documentation folder."""
    texts = docs / "commands"
    _, files, *common = (texts / _COMMON).read_text("utf-8").strip().split("\n## ")
    about_files = files.partition("\n\n")[2]
    texts_by_name = {f"{PROGRAM}.{_SECTION}": _main_page(about_files, common)}
    with click.Context(application, info_name=PROGRAM) as parent:
        for entry in ENTRIES:
            command = load_command(entry.name)
            ctx = click.Context(command, info_name=command.name, parent=parent)
            page = texts / f"{entry.name}.md"
            details = page.read_text("utf-8").strip().split("\n\n")[1:] if page.exists() else []
            if any(parameter.name in ("files", "left") for parameter in command.params):
                details.append(about_files)
            text = _command_page(command, ctx, entry.summary, details, common)
            texts_by_name[f"{PROGRAM}-{entry.name}.{_SECTION}"] = text
    return texts_by_name


def write_pages(folder: Path, docs: Path) -> None:
    """Write all pages into a folder, and remove those of removed commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{PROGRAM}*.[0-9]"):
        old.unlink()
    for name, text in pages(docs).items():
        (folder / name).write_text(text, "utf-8")


def _main_page(about_files: str, common: Sequence[str]) -> str:
    lines = _head(PROGRAM, "read MySQL and MariaDB binary logs without a server")
    lines += [".SH SYNOPSIS", rf".B {PROGRAM}", r".I COMMAND", r"[\fIOPTIONS\fR] \fIFILE\fR..."]
    lines += [".SH DESCRIPTION", _text(DESCRIPTION), ".PP", _text(about_files)]
    lines.append(".SH COMMANDS")
    for entry in ENTRIES:
        lines += [".TP", rf"\fB{_escaped(f'{PROGRAM}-{entry.name}')}\fR({_SECTION})"]
        lines.append(_text(f"{entry.summary[0].upper()}{entry.summary[1:]}."))
    lines.append(".SH OPTIONS")
    lines += [".TP", r"\fB\-\-version\fR", "Show the version and exit."]
    lines += [".TP", r"\fB\-h\fR, \fB\-\-help\fR", "Show the overview and exit; after a command, its help."]
    names = [f"{PROGRAM}-{entry.name}" for entry in ENTRIES]
    return _finished(lines, common, [Example("", line) for line in EXAMPLES], names)


def _command_page(
    command: Command, ctx: click.Context, summary: str, details: Sequence[str], common: Sequence[str]
) -> str:
    lines = _head(f"{PROGRAM}-{command.name}", summary)
    lines += [".SH SYNOPSIS", rf".B {PROGRAM} {_escaped(command.name or '')}", r"[\fIOPTIONS\fR]"]
    for parameter in command.get_params(ctx):
        if isinstance(parameter, click.Argument):
            more = "..." if parameter.nargs < 0 else ""
            lines.append(rf"\fI{_escaped(parameter.human_readable_name.removesuffix('...'))}\fR{more}")
    lines += [".SH DESCRIPTION", _text(command.help or "")]
    for paragraph in details:
        lines += [".PP", _text(paragraph)]
    lines.append(".SH OPTIONS")
    for title, parameters in command.sections(ctx).items():
        lines.append(rf".SS {_escaped(title)}")
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                lines += [".TP", _option_names(record[0]), _text(record[1])]
    return _finished(lines, common, command.examples, [PROGRAM])


def _head(name: str, summary: str) -> list[str]:
    return [
        r".\" Made by python -m binx.cli.manpages; changes belong there.",
        rf'.TH {_escaped(name.upper())} {_SECTION} "" "binx {__version__}" "User Commands"',
        ".SH NAME",
        rf"{_escaped(name)} \- {_escaped(summary)}",
    ]


def _finished(
    lines: list[str], common: Sequence[str], examples: Sequence[Example], references: Sequence[str]
) -> str:
    """Return a page with the closing sections: common options, examples, other pages."""
    for section in common:
        title, _, definitions = section.partition("\n\n")
        lines.append(f".SH {title.upper()}")
        for name, meaning in _DEFINITION.findall(definitions):
            lines += [".TP", rf"\fB{_escaped(name)}\fR", _text(meaning)]
    lines.append(".SH EXAMPLES")
    for example in examples:
        if example.purpose:
            lines += [".PP", _text(f"{example.purpose[0].upper()}{example.purpose[1:]}:")]
        lines += [".PP", ".RS 4", ".nf", ".ft CR"]
        lines += [_guarded(_escaped(line)) for line in example.line.split("\n")]
        lines += [".ft R", ".fi", ".RE"]
    others = [rf"\fB{_escaped(name)}\fR({_SECTION})" for name in references]
    lines += [".SH SEE ALSO", ", ".join([*others, r"\fBmysqlbinlog\fR(1)"])]
    return "\n".join(lines) + "\n"


def _option_names(names: str) -> str:
    """Format an option's names in bold, its value's placeholder in italics."""
    formatted = []
    for text in names.split(", "):
        name, space, value = text.partition(" ")
        formatted.append(rf"\fB{_escaped(name)}\fR" + (rf" \fI{_escaped(value)}\fR" if space else ""))
    return ", ".join(formatted)


def _text(text: str) -> str:
    """Format a paragraph: commands in backquotes and references to other pages are bold."""
    return _guarded("".join(_marked(" ".join(text.split()))))


def _marked(text: str) -> Iterator[str]:
    for index, span in enumerate(_CODE.split(text)):
        if index % 2:
            yield rf"\fB{_escaped(span)}\fR"
        else:
            yield _REFERENCE.sub(r"\\fB\1\\fR(\2)", _escaped(span).replace(r"\-", "-")).replace("-", r"\-")


def _escaped(text: str) -> str:
    """Escape text; non-ASCII characters by number, since roff's input has none."""
    plain = text.translate(_ESCAPES)
    return "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in plain)


def _guarded(line: str) -> str:
    r"""Protect a line that would be a macro: one that begins with a dot or an apostrophe gets ``\&``."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


if __name__ == "__main__":
    write_pages(*map(Path, sys.argv[1:]))
