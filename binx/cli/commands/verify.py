"""``binx verify``: check that logs are intact and complete."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from binx.cli.command import Example, command, flag
from binx.cli.options import FILES, FORMAT_OF, LOOK, QUIET, as_json_option
from binx.cli.progress import progress_bar
from binx.cli.terminal import TextOutput, say_note, screen, text_output
from binx.errors import ExitCode
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text
from binx.verify import FileReport, Problem, VerifyReport, verify

EXAMPLES = (
    Example("all logs of a server", "binx verify mysql-bin.index"),
    Example("check a backup in a script", "binx verify --quiet mysql-bin.* || echo call the DBA"),
    Example("find changes that were not logged", "binx verify --rows mysql-bin.index"),
    Example("the problems, for programs", "binx verify --json mysql-bin.* | jq -c '.problems[]'"),
)

_RED, _GREEN, _BOLD = "31", "32", "1"
_INDENT = "   "
_DAMAGED = "damaged"
"""Ending of a log whose end cannot be read."""


@command("verify", examples=EXAMPLES)
@flag("--quick", "Do not verify checksums.")
@flag("--rows", "Compare each row before a change with what earlier changes left of it, too.")
@LOOK
@FORMAT_OF
@as_json_option("Print one JSON object.")
@QUIET
@FILES
def verify_command(quick: bool, rows: bool, as_json: bool, quiet: bool, files: tuple[str, ...]) -> ExitCode:
    """Check logs for damage and gaps: checksums, structure, positions, GTIDs and the chain of files."""
    with text_output(plain=as_json) as output:
        with progress_bar("verify", quiet=quiet) as bar:
            report = verify(files, checksums=not quick, rows=rows, progress=bar.reach)
        if as_json:
            output.line(report.to_json())
        else:
            _show(report, output, quiet=quiet)
    if not quiet and not as_json:
        for note in report.notes:
            say_note(note)
    if report.lacks_files:
        return ExitCode.ABSENT
    return ExitCode.DONE if report.ok else ExitCode.LOSSES


def _show(report: VerifyReport, output: TextOutput, *, quiet: bool) -> None:
    """Print a line per file, the problems with advice, and the verdict."""
    width, colour = screen()
    if not quiet:
        for file in report.files:
            output.line(_file_line(file))
    for number, problem in enumerate(report.problems, 1):
        output.line("")
        for line in _problem_lines(number, problem, width, colour=colour):
            output.line(line)
    if report.problems:
        output.line("")
    if report.problems or not quiet:
        verdict, code = _verdict(report)
        for line in _wrapped("", verdict, width):
            output.line(_coloured(line, code, colour=colour))


def _file_line(file: FileReport) -> str:
    if file.server_version is None:
        return f"{safe_text(file.path)}: not read"
    details = [
        safe_text(file.server_version),
        bytes_text(file.bytes),
        counted(file.transactions, "transaction"),
    ]
    if file.ending != _DAMAGED or not file.damaged_bytes:
        details.append(file.ending)
    if file.damaged_bytes:
        details.append(f"{file.damaged_bytes:,} bytes damaged")
    return f"{safe_text(file.path)}: {', '.join(details)}"


def _problem_lines(number: int, problem: Problem, width: int | None, *, colour: bool) -> Iterator[str]:
    position = safe_text(problem.path)
    if problem.start is not None:
        position += f", from byte {problem.start:,}"
        if problem.end is not None:
            position += f" to {problem.end:,}"
    head = f"{number}. {problem.kind.value.replace('_', ' ')}: {position}"
    for line in _wrapped("", head, width, indent=_INDENT):
        yield _coloured(line, _RED, colour=colour)
    facts = [("what", problem.message)]
    if problem.gtid is not None:
        facts.append(("gtid", problem.gtid))
    facts += [("means", problem.meaning), ("do", problem.action)]
    for name, text in facts:
        yield from _wrapped(f"{_INDENT}{name:<6} ", safe_text(text), width)


def _wrapped(head: str, text: str, width: int | None, indent: str | None = None) -> list[str]:
    """Return a text after its name; wrapped for people, in one line for programs."""
    if width is None:
        return [head + text]
    return wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head) if indent is None else indent,
        break_on_hyphens=False,
    )


def _verdict(report: VerifyReport) -> tuple[str, str]:
    """Return the verdict and its colour."""
    size = sum(file.bytes for file in report.files)
    files, transactions = counted(len(report.files), "file"), counted(report.transactions, "transaction")
    summary = f"{files}, {bytes_text(size)}, {transactions}"
    without = "" if report.checksums else ", checksums not verified"
    if report.ok:
        return f"ok: {summary}{without}", _GREEN
    lost = report.lost
    losses = f", at least {counted(lost, 'transaction')} lost" if lost else ""
    return f"{counted(len(report.problems), 'problem')}{losses}: {summary}{without}", _BOLD


def _coloured(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
