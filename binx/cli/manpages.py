"""The manual pages in man(7)'s macros: ``python -m binx.cli.manpages man docs``.

They are made from the commands, and from what ``docs/commands`` says of each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from binx import __version__
from binx.cli.application import DESCRIPTION, ENTRIES, EXAMPLES, PROGRAM, application, load_command
from binx.cli.command import Command, Example

_SECTION = 1
_ESCAPES = str.maketrans(
    {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
)
_CODE = re.compile(r"`([^`]+)`")
_REFERENCE = re.compile(r"\b([a-z][a-z-]*)\((\d)\)")

_FILES = (
    "FILE is a binary log or relay log of MySQL or MariaDB, plain or compressed (.zst, .gz). A folder stands"
    " for the logs in it. A file whose name ends in .index is a server's list of logs; logs that were moved"
    " together with it are found next to it. - is standard input. Files are only read, never changed, and may"
    " be in use by a server."
)
_EXIT_STATUS = (
    ("0", "Success."),
    ("1", "Failure; a message on standard error gives the reason."),
    ("2", "Usage error on the command line."),
    ("3", "Success with losses, which are listed on standard error."),
    ("4", "Something requested, such as a GTID, was not found."),
    ("130", "Interrupted by Ctrl\N{HYPHEN-MINUS}C; no partial file is left."),
    ("129, 143", "Terminated by SIGHUP or SIGTERM; no partial file is left."),
)
_ENVIRONMENT = (
    ("NO_COLOR", "If set and not empty, output has no colours."),
    ("COLUMNS", "Overrides the width of the terminal."),
    (
        "BINX_PAGER, PAGER",
        "Program that shows long output on a terminal, by default less; empty for none, as --no-pager.",
    ),
    ("TMPDIR", "Folder for temporary files, such as standard input while it is read."),
    ("BINX_CONFIG", "Path of the configuration file, see binx-config(1); empty for none."),
    ("BINX_COMMAND_OPTION", "Default of an option, such as BINX_TO_PARQUET_COMPRESSION; see binx-config(1)."),
    (
        "BINX_KEYRING",
        "Keyring files of the server, separated by colons, for encrypted logs; same as --keyring.",
    ),
    ("BINX_KEY_FILE", "File with one key, for encrypted logs; same as --key-file."),
    (
        "BINX_KEY",
        "A key of 64 hex digits, for encrypted logs. No option takes the key itself, because all users of a"
        " machine can see command lines.",
    ),
    (
        "BINX_IDENTITY",
        "Files of age identities, separated by colons, for age-encrypted files; same as --identity.",
    ),
    ("BINX_TRACEBACK", "If 1, errors include a traceback."),
)


def pages(docs: Path) -> dict[str, str]:
    """All pages by file name, with paragraphs from the folder of the documentation."""
    made = {f"{PROGRAM}.{_SECTION}": _main_page()}
    with click.Context(application, info_name=PROGRAM) as parent:
        for entry in ENTRIES:
            text = _command_page(load_command(entry.name), entry.summary, parent, docs)
            made[f"{PROGRAM}-{entry.name}.{_SECTION}"] = text
    return made


def write_pages(folder: Path, docs: Path) -> None:
    """Write all pages into a folder, and remove those of former commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{PROGRAM}*.[0-9]"):
        old.unlink()
    for name, text in pages(docs).items():
        (folder / name).write_text(text, "utf-8")


def _main_page() -> str:
    lines = _head(PROGRAM, "read MySQL and MariaDB binary logs without a server")
    lines += [".SH SYNOPSIS", rf".B {PROGRAM}", r".I COMMAND", r"[\fIOPTIONS\fR] \fIFILE\fR..."]
    lines += [".SH DESCRIPTION", _text(DESCRIPTION), ".PP", _text(_FILES)]
    lines.append(".SH COMMANDS")
    for entry in ENTRIES:
        lines += [".TP", rf"\fB{escaped(f'{PROGRAM}-{entry.name}')}\fR({_SECTION})"]
        lines.append(_text(f"{entry.summary[0].upper()}{entry.summary[1:]}."))
    lines.append(".SH OPTIONS")
    lines += [".TP", r"\fB\-\-version\fR", "Show the version and exit."]
    lines += [".TP", r"\fB\-h\fR, \fB\-\-help\fR", "Show the overview and exit; after a command, its help."]
    lines += _common_sections()
    lines += _examples([Example("", line) for line in EXAMPLES])
    lines += _see_also([f"{PROGRAM}-{entry.name}" for entry in ENTRIES])
    return _joined(lines)


def _command_page(command: Command, summary: str, parent: click.Context, docs: Path) -> str:
    ctx = click.Context(command, info_name=command.name, parent=parent)
    name = f"{PROGRAM}-{command.name}"
    arguments = [one for one in command.get_params(ctx) if isinstance(one, click.Argument)]
    lines = _head(name, summary)
    lines += [".SH SYNOPSIS", rf".B {PROGRAM} {escaped(command.name or '')}", r"[\fIOPTIONS\fR]"]
    for one in arguments:
        more = "..." if one.nargs < 0 else ""
        lines.append(rf"\fI{escaped(one.human_readable_name.removesuffix('...'))}\fR{more}")
    lines += [".SH DESCRIPTION", _text(command.help or "")]
    reads_logs = any(one.name in ("files", "left") for one in arguments)
    for paragraph in (*_details(docs, command.name or ""), *([_FILES] if reads_logs else [])):
        lines += [".PP", _text(paragraph)]
    lines.append(".SH OPTIONS")
    for title, parameters in command.sections(ctx).items():
        lines.append(rf".SS {escaped(title)}")
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                lines += [".TP", _option_names(record[0]), _text(record[1])]
    lines += _common_sections()
    lines += _examples(command.examples)
    lines += _see_also([PROGRAM])
    return _joined(lines)


def _details(docs: Path, command: str) -> list[str]:
    """The paragraphs of a command's page in the documentation."""
    page = docs / "commands" / f"{command}.md"
    return page.read_text("utf-8").strip().split("\n\n")[1:] if page.exists() else []


def _head(name: str, summary: str) -> list[str]:
    return [
        r".\" Made by python -m binx.cli.manpages; changes belong there.",
        rf'.TH {escaped(name.upper())} {_SECTION} "" "binx {__version__}" "User Commands"',
        ".SH NAME",
        rf"{escaped(name)} \- {escaped(summary)}",
    ]


def _common_sections() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for code, meaning in _EXIT_STATUS:
        lines += [".TP", rf"\fB{code}\fR", _text(meaning)]
    lines.append(".SH ENVIRONMENT")
    for name, meaning in _ENVIRONMENT:
        lines += [".TP", rf"\fB{escaped(name)}\fR", _text(meaning)]
    return lines


def _examples(examples: tuple[Example, ...] | list[Example]) -> list[str]:
    lines = [".SH EXAMPLES"]
    for example in examples:
        if example.purpose:
            lines += [".PP", _text(f"{example.purpose[0].upper()}{example.purpose[1:]}:")]
        lines += [".PP", ".RS 4", ".nf", ".ft CR"]
        lines += [guarded(escaped(line)) for line in example.line.split("\n")]
        lines += [".ft R", ".fi", ".RE"]
    return lines


def _see_also(names: list[str]) -> list[str]:
    references = [rf"\fB{escaped(name)}\fR({_SECTION})" for name in names]
    return [".SH SEE ALSO", ", ".join([*references, r"\fBmysqlbinlog\fR(1)"])]


def _option_names(names: str) -> str:
    """An option's names in bold, what stands for its value in italics."""
    parts = []
    for part in names.split(", "):
        name, space, value = part.partition(" ")
        parts.append(rf"\fB{escaped(name)}\fR" + (rf" \fI{escaped(value)}\fR" if space else ""))
    return ", ".join(parts)


def _text(text: str) -> str:
    """A paragraph: commands in backquotes and references to other pages are bold."""
    return guarded("".join(_marked(" ".join(text.split()))))


def _marked(text: str) -> Iterator[str]:
    for index, part in enumerate(_CODE.split(text)):
        if index % 2:
            yield rf"\fB{escaped(part)}\fR"
        else:
            yield _REFERENCE.sub(r"\\fB\1\\fR(\2)", escaped(part).replace(r"\-", "-")).replace("-", r"\-")


def escaped(text: str) -> str:
    """Text as it is to be read; characters beyond ASCII by their number, as roff's input has none."""
    plain = text.translate(_ESCAPES)
    return "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in plain)


def guarded(line: str) -> str:
    r"""A line that is no macro by accident: one that begins with a dot or an apostrophe gets ``\&``."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_pages(*map(Path, sys.argv[1:]))
