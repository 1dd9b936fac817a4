"""``binx stats``: what filled the logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import tzinfo

from binx.cli.command import PATH, Example, command, offered, option, parsed
from binx.cli.layout import lines_for_people, list_for_people, plain_lines, plain_list
from binx.cli.options import COUNT, FILES, LOOK, NO_CHECKSUMS, ON_DAMAGE, QUIET, ZONE, index_options
from binx.cli.progress import progress_bar
from binx.cli.selecting import selection_options, tell_understood
from binx.cli.terminal import (
    TextOutput,
    ending,
    has_colour,
    is_for_screen,
    say_note,
    say_warning,
    terminal_width,
    text_output,
)
from binx.errors import ExitCode, UsageError
from binx.log.chain.inputs import open_logs
from binx.log.index.lookup import IndexUse
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.stats.dimensions import Dimension, csv_texts, parse_dimensions
from binx.stats.figures import Statistics
from binx.stats.gather import gather
from binx.stats.page import html_page
from binx.stats.sections import Section, breakdown_section, sections, total

EXAMPLES = (
    Example("what filled these logs", "binx stats mysql-bin.*"),
    Example(
        "tables by hour during one night, in Berlin time",
        "binx stats --by hour,table --since 2026-11-21T22:00+01:00 --tz Europe/Berlin mysql-bin.*",
    ),
    Example("the statements that filled them", "binx stats --by statement mysql-bin.*"),
    Example("an HTML page with charts", "binx stats --html report.html mysql-bin.*"),
    Example("all tables as CSV", "binx stats --by table --csv mysql-bin.* > tables.csv"),
    Example("a quick overview without rows and tables", "binx stats --quick mysql-bin.index"),
    Example(
        "the tables with the most bytes, for programs",
        "binx stats --json mysql-bin.* | jq -r '.tables[] | [.db, .table, .bytes] | @tsv'",
    ),
)

_TOP = 10
_STANDARD_OUTPUT = "-"


@command("stats", examples=EXAMPLES)
@selection_options
@option(
    "--by",
    metavar="LIST",
    multiple=True,
    type=parsed(parse_dimensions),
    shell_complete=offered([dimension.value for dimension in Dimension]),
    help="Group by these: hour,table; also db, statement, server, thread, kind, size, day and so on.",
)
@option("--top", type=COUNT, help=f"Number of entries per table.  [default: {_TOP}]")
@ZONE
@option("--quick", is_flag=True, help="Do not read rows.")
@LOOK
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@option("--csv", "as_csv", is_flag=True, help="Print the groups of --by as CSV (default: by table).")
@option("--html", type=PATH, help="Write a self-contained HTML page with charts.")
@NO_CHECKSUMS
@ON_DAMAGE
@index_options
@QUIET
@FILES
def stats_command(
    selection: Selection,
    by: tuple[tuple[Dimension, ...], ...],
    top: int | None,
    zone: tzinfo,
    quick: bool,
    as_json: bool,
    as_csv: bool,
    html: str | None,
    no_checksums: bool,
    on_damage: str,
    index: IndexUse | None,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """Show what filled the logs: tables, sizes, times, the largest and longest transactions."""
    if as_json + as_csv + (html is not None) > 1:
        raise UsageError("--json, --csv and --html cannot be combined")
    tell_understood(selection, quiet=quiet)
    dimensions = tuple(one for given in by for one in given) or ((Dimension.TABLE,) if as_csv else ())
    with text_output(html or _STANDARD_OUTPUT, plain=as_json or as_csv, told=as_csv and not quiet) as output:
        with (
            progress_bar("stats", quiet=quiet) as bar,
            open_logs(files, index if quick else None, on_damage=OnDamage(on_damage)) as logs,
        ):
            bar.expect(sum(log.size for log in logs))
            figures = gather(
                logs,
                selection=selection,
                by=dimensions,
                zone=zone,
                quick=quick,
                verify=not no_checksums,
                on_damage=OnDamage(on_damage),
                top=top or _TOP,
                on_progress=bar.reach,
            )
        if html is not None:
            _write_html(figures, top or _TOP, zone, output)
        elif as_json:
            output.line(figures.to_json(top))
        elif as_csv:
            _write_csv(figures, top, output)
        else:
            _show(figures, top, zone, output)
    return _told(figures, quiet=quiet)


def _write_csv(figures: Statistics, top: int | None, output: TextOutput) -> None:
    assert figures.breakdown is not None
    for text in csv_texts(figures.breakdown, top):
        output.write(text)


def _write_html(figures: Statistics, top: int, zone: tzinfo, output: TextOutput) -> None:
    output.write(html_page(figures, top=top, zone=zone))


def _show(figures: Statistics, top: int | None, zone: tzinfo, output: TextOutput) -> None:
    terminal = is_for_screen()
    width, colour = terminal_width(sys.stdout), has_colour(sys.stdout)
    for section in _sections(figures, top, zone):
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


def _sections(figures: Statistics, top: int | None, zone: tzinfo) -> Iterator[Section]:
    """All tables, or the one that was asked for."""
    if figures.breakdown is None:
        yield total(figures)
        yield from sections(figures, top or _TOP, zone)
    else:
        is_over_time = Dimension(figures.breakdown.by[0]).is_time
        yield breakdown_section(figures.breakdown, top or (None if is_over_time else _TOP), zone)


def _told(figures: Statistics, *, quiet: bool) -> ExitCode:
    """Tell what the figures lack; returns the exit code."""
    if not quiet:
        for note in figures.notes:
            say_note(note)
    for file in figures.files:
        if file.problem is not None:
            say_warning(file.problem)
    for what in figures.incomplete:
        say_warning(f"too many {what} to count them all; those with the most bytes were kept")
    return ending(figures.absent_gtids, losses=not figures.complete)
