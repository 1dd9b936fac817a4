"""``binx stats``: what filled the logs."""

from __future__ import annotations

import sys

from binx.cli.figures import sections
from binx.cli.indexing import index_options
from binx.cli.options import (
    COUNT,
    FILES,
    NO_CHECKSUMS,
    OUTPUT,
    QUIET,
    Example,
    command,
    option,
)
from binx.cli.progress import progress_bar
from binx.cli.sections import lines_for_people, list_for_people, plain_lines, plain_list
from binx.cli.terminal import TextOutput, has_colour, is_terminal, say_warning, terminal_width, text_output
from binx.errors import ExitCode
from binx.log.index_use import IndexUse
from binx.log.inputs import open_logs
from binx.stats.figures import Statistics
from binx.stats.gather import gather

EXAMPLES = (
    Example("what filled these logs", "binx stats mysql-bin.*"),
    Example("a quick look, without rows and tables", "binx stats --quick mysql-bin.index"),
    Example(
        "the tables with most bytes, for programs",
        "binx stats --json mysql-bin.* | jq -r '.tables[] | [.db, .table, .bytes] | @tsv'",
    ),
)

DETAILS = (
    "A log that is damaged is counted up to the damage, which is listed; the exit status is then 3."
    " --quick reads a few bytes of each transaction where the log tells its length, and does not know rows,"
    " tables and event types; where all logs have index files (binx-index(1)), it takes all from there.",
)


def _show(figures: Statistics, top: int, output: TextOutput) -> None:
    terminal = is_terminal(sys.stdout)
    width, colour = terminal_width(sys.stdout), has_colour(sys.stdout)
    for section in sections(figures, top):
        for line in lines_for_people(section, width, colour=colour) if terminal else plain_lines(section):
            output.line(line)
        output.line("")
    found = [finding.message for finding in figures.warnings] or ["none"]
    for line in (
        list_for_people("Warnings", found, width, colour=colour)
        if terminal
        else plain_list("Warnings", found)
    ):
        output.line(line)


@command("stats", examples=EXAMPLES, details=DETAILS)
@option(
    "--top",
    metavar="N",
    type=COUNT,
    default="10",
    show_default=True,
    section=OUTPUT,
    help="How many of each to show.",
)
@option("--quick", is_flag=True, section=OUTPUT, help="Read no rows.")
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print one JSON object.")
@NO_CHECKSUMS
@index_options
@QUIET
@FILES
def stats_command(
    top: int,
    quick: bool,
    as_json: bool,
    no_checksums: bool,
    index: IndexUse | None,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """Show what filled the logs: tables, sizes, times, the largest and longest transactions."""
    with text_output() as output:
        with progress_bar("stats", quiet=quiet) as bar, open_logs(files, index if quick else None) as logs:
            bar.expect(sum(log.size for log in logs))
            figures = gather(logs, quick=quick, verify=not no_checksums, top=top, on_progress=bar.reach)
        if as_json:
            output.line(figures.to_json())
        else:
            _show(figures, top, output)
    for file in figures.files:
        if file.problem is not None:
            say_warning(file.problem)
    return ExitCode.DONE if figures.complete else ExitCode.LOSSES
