"""Generate the manual pages in man(7) macros: ``python -m binx.cli.manpages man docs``.

Pages of commands come from the commands' options and examples and from ``man/text``; pages of formats
(section 5) come from the pages in ``docs`` that describe them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent

import click

from binx.cli.application import DESCRIPTION, ENTRIES, EXAMPLES, PROGRAM, application, load_command
from binx.cli.command import Command, Example
from binx.cli.commands.completion import completion_script
from binx.version import __version__

_SECTION = 1
_COMMON = "binx.md"
_FORMATS_SECTION = 5
_FORMATS = {
    "binx-parquet": ("dataset.md", "the Parquet data set that binx to-parquet writes"),
    "binx-json": ("json.md", "what commands print with --json, and recipes for jq"),
    "binx-index-file": ("index-file.md", "the file that binx index writes next to a log"),
}
"""Pages of formats: the page in ``docs`` that each is made of, and its summary."""
_ESCAPES = str.maketrans(
    {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
)
_CODE = re.compile(r"`([^`]+)`")
_REFERENCE = re.compile(r"\b([a-z][a-z-]*)\((\d)\)")
_DEFINITION = re.compile(r"- `([^`]+)`: (.+)")
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_BLOCK = re.compile(r"^```\w*\n(?P<code>.*?)\n```$|(?P<text>.+?)(?:\n\n|\n*\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^(?:[-*]|\d+\.) ", re.MULTILINE)
_HEADING = re.compile(r"(#+) (.+)")
_INDENT = "    "


def pages(texts: Path, docs: Path) -> dict[str, str]:
    """Return all pages by file name.

    Args:
        texts: folder with the commands' own text, a Markdown file each.
        docs: folder with the documentation.
    """
    _, files, *common = (texts / _COMMON).read_text("utf-8").strip().split("\n## ")
    about_files = files.partition("\n\n")[2]
    texts_by_name = {f"{PROGRAM}.{_SECTION}": _main_page(about_files, common)}
    with click.Context(application, info_name=PROGRAM) as parent:
        for entry in ENTRIES:
            command = load_command(entry.name)
            ctx = click.Context(command, info_name=command.name, parent=parent)
            page = texts / f"{entry.name}.md"
            details = page.read_text("utf-8").partition("\n")[2] if page.exists() else ""
            if any(parameter.name in ("files", "left") for parameter in command.params):
                details += f"\n## Files\n\n{about_files}"
            text = _command_page(command, ctx, entry.summary, details, common)
            texts_by_name[f"{PROGRAM}-{entry.name}.{_SECTION}"] = text
    for name, (source, summary) in _FORMATS.items():
        lines = [*_head(name, summary, _FORMATS_SECTION), ".SH DESCRIPTION"]
        lines += _blocks((docs / source).read_text("utf-8").partition("\n")[2], ".SH")
        lines += [".SH SEE ALSO", rf"\fB{PROGRAM}\fR({_SECTION})"]
        texts_by_name[f"{name}.{_FORMATS_SECTION}"] = "\n".join(lines) + "\n"
    return texts_by_name


def write_completions(folder: Path) -> None:
    """Write the completion scripts of the shells, under the names that these look for."""
    folder.mkdir(exist_ok=True)
    for shell, name in (("bash", PROGRAM), ("zsh", f"_{PROGRAM}"), ("fish", f"{PROGRAM}.fish")):
        (folder / name).write_text(completion_script(application, PROGRAM, shell), "utf-8")


def write_pages(folder: Path, docs: Path) -> None:
    """Write all pages into ``man``, from its folder ``text``, and remove those of removed commands."""
    for old in folder.glob(f"{PROGRAM}*.[0-9]"):
        old.unlink()
    for name, text in pages(folder / "text", docs).items():
        (folder / name).write_text(text, "utf-8")


def _main_page(about_files: str, common: Sequence[str]) -> str:
    lines = _head(PROGRAM, "read MySQL and MariaDB binary logs without a server")
    lines += [".SH SYNOPSIS", rf".B {PROGRAM}", r".I COMMAND", r"[\fIOPTIONS\fR] \fIFILE\fR..."]
    lines += [".SH DESCRIPTION", _text(DESCRIPTION), *_blocks(about_files, ".SS")]
    lines.append(".SH COMMANDS")
    for entry in ENTRIES:
        lines += [".TP", rf"\fB{_escaped(f'{PROGRAM}-{entry.name}')}\fR({_SECTION})"]
        lines.append(_text(f"{entry.summary[0].upper()}{entry.summary[1:]}."))
    lines.append(".SH OPTIONS")
    lines += [".TP", r"\fB\-\-version\fR", "Show the version and exit."]
    lines += [
        ".TP",
        r"\fB\-h\fR, \fB\-\-help\fR",
        "Show the overview and exit; after a command, its help: -h what matters most, --help all.",
    ]
    names = [f"{PROGRAM}-{entry.name}" for entry in ENTRIES]
    return _finished(lines, common, [Example("", line) for line in EXAMPLES], names)


def _command_page(
    command: Command, ctx: click.Context, summary: str, details: str, common: Sequence[str]
) -> str:
    lines = _head(f"{PROGRAM}-{command.name}", summary)
    lines += [".SH SYNOPSIS", rf".B {PROGRAM} {_escaped(command.name or '')}", r"[\fIOPTIONS\fR]"]
    for parameter in command.get_params(ctx):
        if isinstance(parameter, click.Argument):
            more = "..." if parameter.nargs < 0 else ""
            lines.append(rf"\fI{_escaped(parameter.human_readable_name.removesuffix('...'))}\fR{more}")
    lines += [".SH DESCRIPTION", _text(command.help or "")]
    lines += _blocks(details, ".SS")
    lines.append(".SH OPTIONS")
    for title, parameters in command.sections(ctx).items():
        lines.append(rf".SS {_escaped(title)}")
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                lines += [".TP", _option_names(record[0]), _text(record[1])]
    return _finished(lines, common, command.examples, [PROGRAM])


def _head(name: str, summary: str, section: int = _SECTION) -> list[str]:
    kind = "User Commands" if section == _SECTION else "File Formats"
    return [
        r".\" Made by python -m binx.cli.manpages; changes belong there.",
        rf'.TH {_escaped(name.upper())} {section} "" "binx {__version__}" "{kind}"',
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
        lines += _code(example.line)
    others = [rf"\fB{_escaped(name)}\fR({_SECTION})" for name in references]
    lines += [".SH SEE ALSO", ", ".join([*others, r"\fBmysqlbinlog\fR(1)"])]
    return "\n".join(lines) + "\n"


def _blocks(markdown: str, heading: str) -> Iterator[str]:
    """Format Markdown: headings (with the macro given), paragraphs, lists, tables and code."""
    for block in _BLOCK.finditer(_COMMENT.sub("", markdown).strip("\n")):
        text = block["text"]
        if text is None:
            yield from _code(block["code"])
        elif title := _HEADING.match(text):
            is_part = len(title[1]) > 2
            name = title[2] if is_part or heading == ".SS" else title[2].upper()
            yield f"{'.SS' if is_part else heading} {_escaped(name)}"
        elif text.startswith("|"):
            yield from _table(text)
        elif text.startswith(_INDENT):
            yield from _code(dedent(text))
        elif _ITEM.match(text):
            for item in _ITEM.split(text)[1:]:
                yield from (".IP \\(bu 2", _text(item))
        else:
            yield from (".PP", _text(text))


def _table(text: str) -> Iterator[str]:
    """Format a table as definitions: the first cell of a row is the term."""
    for row in text.splitlines()[2:]:
        first, *others = (cell.strip() for cell in row.strip("|").split(" | "))
        yield from (".TP", rf"\fB{_text(first.replace('`', ''))}\fR", _text("; ".join(filter(None, others))))


def _code(text: str) -> Iterator[str]:
    yield from (".PP", ".RS 4", ".nf", ".ft CR")
    yield from (_guarded(_escaped(line)) for line in text.split("\n"))
    yield from (".ft R", ".fi", ".RE")


def _option_names(names: str) -> str:
    """Format an option's names in bold, its value's placeholder in italics."""
    formatted = []
    for text in names.split(", "):
        name, space, value = text.partition(" ")
        formatted.append(rf"\fB{_escaped(name)}\fR" + (rf" \fI{_escaped(value)}\fR" if space else ""))
    return ", ".join(formatted)


def _text(text: str) -> str:
    """Format a paragraph: code, what is bold and references to other pages are bold; links are their text."""
    plain = _LINK.sub(r"\1", " ".join(text.split())).replace("**", "`")
    return _guarded("".join(_marked(plain)))


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
    man, documentation = map(Path, sys.argv[1:])
    write_pages(man, documentation)
    write_completions(man / "completions")
