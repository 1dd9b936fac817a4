"""``binx stats``: show what filled the logs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from binx.cli.command import COUNT, PATH, Example, command, flag, offered, option, parsed
from binx.cli.layout import section_lines, sentences
from binx.cli.options import LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.progress import progress_bar
from binx.cli.selecting import selection_options
from binx.cli.terminal import say_warning, screen, text_output
from binx.errors import ExitCode, UsageError
from binx.log.chain.chain import in_order
from binx.log.chain.ends import known_facts
from binx.log.chain.inputs import open_logs
from binx.log.selection.selection import Selection
from binx.stats.dimensions import Dimension, csv_texts, parse_dimensions
from binx.stats.gather import figures_json, gather, incomplete
from binx.stats.sections import Record, breakdown_section, sections

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


@command(
    "stats",
    examples=EXAMPLES,
    brief="gtid since until table db thread-id kind grep by top tz quick json csv html",
)
@selection_options
@option(
    "--by LIST",
    multiple=True,
    type=parsed(parse_dimensions),
    shell_complete=offered([dimension.value for dimension in Dimension]),
    help="Group by these: hour,table; also db, statement, server, thread, kind, size, day and so on.",
)
@option("--top", type=COUNT, help=f"Number of entries per table.  [default: {_TOP}]")
@ZONE
@flag("--quick", "Do not read rows.")
@LOOK
@as_json_option("Print one JSON object.")
@flag("--csv", "Print the groups of --by as CSV (default: by table).", "as_csv")
@option("--html", type=PATH, help="Write a self-contained HTML page with charts.")
@log_options(index=True)
def stats_command(
    logs: Logs,
    selection: Selection,
    by: tuple[tuple[Dimension, ...], ...],
    top: int | None,
    zone: tzinfo,
    quick: bool,
    as_json: bool,
    as_csv: bool,
    html: str | None,
) -> ExitCode:
    """Show what filled the logs: tables, sizes, times, the largest and longest transactions."""
    if as_json + as_csv + (html is not None) > 1:
        raise UsageError("--json, --csv and --html cannot be combined")
    logs.say_understood(selection)
    dimensions = tuple(axis for axes in by for axis in axes) or ((Dimension.TABLE,) if as_csv else ())
    with text_output(html or "-", plain=as_json or as_csv, notes=as_csv and not logs.quiet) as output:
        with (
            progress_bar("stats", quiet=logs.quiet) as bar,
            open_logs(logs.paths, logs.index if quick else None, on_damage=logs.on_damage) as files,
        ):
            bar.expect(sum(file.size for file in files))
            logs.note_copies(files)
            # The figures have the warnings.
            problems = logs.check_links(in_order(files, known_facts), selection, warns=False)
            page = None
            if html is not None:
                from binx.stats.page_sums import PageSums

                page = PageSums(files, dimensions, zone, quick=quick)
            figures = gather(
                files,
                problems=problems,
                selection=selection,
                by=dimensions,
                zone=zone,
                quick=quick,
                verify=logs.verify,
                on_damage=logs.on_damage,
                top=top or _TOP,
                on_progress=bar.reach,
                also=() if page is None else page.takers,
            )
        if page is not None:
            from binx.stats.page import html_page

            activity, statements = page.activity.figures(), page.statements
            text = html_page(figures, activity=activity, statements=statements, top=top or _TOP, zone=zone)
            output.write(text)
        elif as_json:
            output.line(figures_json(figures, top))
        elif as_csv:
            for text in csv_texts(figures["breakdown"], top):
                output.write(text)
        else:
            for line in _lines(figures, top, zone):
                output.line(line)
    logs.notes(figures["notes"])
    for problem in [file["error"] for file in figures["files"] if file["error"] is not None]:
        say_warning(problem)
    for kind in incomplete(figures):
        say_warning(f"too many {kind} to count them all; those with the most bytes were kept")
    return logs.ending(figures["absent_gtids"], losses=not figures["complete"])


def _lines(figures: Record, top: int | None, zone: tzinfo) -> Iterator[str]:
    """Yield all tables, or that of --by."""
    width, colour = screen()
    breakdown = figures["breakdown"]
    if breakdown is None:
        shown = sections(figures, top or _TOP, zone)
    else:
        is_over_time = Dimension(breakdown["by"][0]).is_time
        shown = iter([breakdown_section(breakdown, top or (None if is_over_time else _TOP), zone)])
    for section in shown:
        yield from section_lines(section, width, colour=colour)
        yield ""
    messages = [warning["message"] for warning in figures["warnings"]] or ["none"]
    yield from sentences("Warnings", messages, width, colour=colour)
