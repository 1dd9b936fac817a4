"""``binx pull``: copy a server's logs as it writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import Any

import click

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.options import QUIET, as_json_option
from binx.cli.servers import ending_of, login_of, server_options, stopped_by_signals
from binx.cli.terminal import is_terminal, say_note, terminal_width, text_output
from binx.errors import ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import wanted_gtids
from binx.pull.follow import Pull, PullRequest
from binx.pull.pull_state import read_status
from binx.report.document import json_line
from binx.source.json_text import json_text
from binx.stats.text import bytes_text, safe_text

EXAMPLES = (
    Example("fetch what is new, from cron", "binx pull mysql://binx@db1 --to /backup/db1"),
    Example(
        "follow the server; a commit waits for this copy",
        "binx pull mysql://binx@db1 --to /backup/db1 --follow --semi-sync",
    ),
    Example("how far it is", "binx pull --status /backup/db1 --json | jq .lag_seconds"),
)

SERVER, FROM, ASK = "Server", "Where to begin and end", "Status"
_AUTO = "auto"
_MINUTE, _BLINK = 60.0, 1.0


def _start_gtids(text: str) -> GtidSet | str:
    return text if text == _AUTO else wanted_gtids(text)


@command(
    "pull",
    examples=EXAMPLES,
    brief="to archive parquet from-gtid follow semi-sync socket"
    " user ask-password defaults-file tls-ca status json quiet",
)
@option("--to DIR", "folder", type=PATH, help="The folder that the logs go to.")
@option("--archive DEST", type=PATH, help="Archive each closed log, as binx archive does; a folder or a URI.")
@option("--parquet DIR", type=PATH, help="With --archive: also export row changes to this data set.")
@option(
    "--sync",
    type=click.Choice(["transaction", "interval"]),
    default="transaction",
    help="Bring files to the disk as transactions arrive, several at once under load, or once per second.",
)
@option(
    "--from LOG", "log", section=FROM, help="Begin a new chain with this log.  [default: the server's oldest]"
)
@option(
    "--from-gtid SET|auto",
    "gtids",
    type=parsed(_start_gtids),
    section=FROM,
    help="Begin with the log of the first transaction not in SET; auto: where DIR ends, after a failover.",
)
@flag("--new-chain", "Begin a new chain in a folder of its own below DIR.", section=FROM)
@flag(
    "--follow",
    "Wait for what the server will write; reconnect.  [default: end where the server is now]",
    section=FROM,
)
@flag("--semi-sync", "Acknowledge transactions, for which commits wait.", section=SERVER)
@option(
    "--server-id N",
    type=click.IntRange(1, 2**32 - 1),
    section=SERVER,
    help="What the server knows this replica by.  [default: made from host and DIR]",
)
@option(
    "--heartbeat SECONDS",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    section=SERVER,
    help="How often an idle server shows that it is alive; after three of these it counts as lost.",
)
@server_options(SERVER)
@option(
    "--status DIR", type=PATH, section=ASK, help="Report how far the pull into DIR is; connects to nothing."
)
@as_json_option("With --status: print one JSON object.")
@QUIET
@click.argument("server", metavar="[SERVER]", required=False)
def pull_command(
    server: str | None,
    folder: str | None,
    status: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> ExitCode:
    """Copy a server's binary logs as it writes them: verified, durable, resumable.

    SERVER is mysql://USER@HOST:PORT; without it, option files tell.
    """
    if status is not None:
        return _show_status(Path(status), as_json=as_json)
    if as_json:
        raise UsageError("--json applies only to --status")
    if folder is None:
        raise UsageError("expected a folder for the logs (--to)")
    log, gtids = options["log"], options["gtids"]
    if log is not None and gtids is not None:
        raise UsageError("expected --from or --from-gtid, found both")
    request = PullRequest(
        login_of(server, options),
        Path(folder),
        log=None if log is None else log.partition(":")[0],
        gtids=gtids if isinstance(gtids, GtidSet) else None,
        continues=gtids == _AUTO,
        new_chain=options["new_chain"],
        follow=options["follow"],
        semi_sync=options["semi_sync"],
        interval=options["sync"] == "interval",
        server_id=options["server_id"],
        heartbeat=options["heartbeat"],
        archive=options["archive"],
        parquet=options["parquet"],
    )
    request.check()
    show = _Show(quiet=quiet)
    pull = Pull(request, show.note, show.tick)
    try:
        # Before the first connection there is nothing that a transaction's end could be waited for.
        with stopped_by_signals(pull.stop, lambda: not pull.has_connected) as ended:
            done = pull.run()
    finally:
        show.clear()
    show.note(f"{pull.progress.log}, position {pull.progress.position:,}: all before it is here")
    if ended and not request.follow:
        return ending_of(ended)
    return ExitCode.DONE if done else ExitCode.LOSSES


def _show_status(folder: Path, *, as_json: bool) -> ExitCode:
    status = read_status(folder)
    with text_output(plain=as_json) as text:
        if as_json:
            text.line(json_line("pull_status", status))
            return ExitCode.DONE
        chains = status.pop("chains")
        for name, value in status.items():
            text.line(f"{name.replace('_', ' '):<18}{safe_text(_status_text(value))}")
        for chain in chains:
            names = ("folder", "flavour", "server_id", "server_uuid", "first_file")
            text.line(
                f"{'chain':<18}{safe_text(' '.join(str(getattr(chain, name) or '.') for name in names))}"
            )
            if chain.missing_gtids:
                text.line(f"{'in no chain':<18}{safe_text(chain.missing_gtids)}")
    return ExitCode.DONE


def _status_text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json_text(value) if isinstance(value, dict) else str(value)


class _Show:
    """Shows progress to people: on a terminal in one line that is updated, else in a line per minute."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = is_terminal(sys.stderr)
        self._last = monotonic()
        self._bytes = 0

    def note(self, text: str) -> None:
        """Print an event of interest."""
        self.clear()
        if not self._quiet:
            say_note(text)

    def tick(self, pull: Pull) -> None:
        """Update the display, called some times per second."""
        now, progress = monotonic(), pull.progress
        if self._quiet or now - self._last < (_BLINK if self._live else _MINUTE):
            return
        rate = (progress.bytes - self._bytes) / (now - self._last)
        self._last, self._bytes = now, progress.bytes
        seconds = "" if pull.lag_seconds is None else f", {pull.lag_seconds:,.0f} s behind"
        ahead = "" if not pull.lag_bytes else f" ({bytes_text(pull.lag_bytes)})"
        line = f"{progress.log}, position {progress.position:,}{seconds}{ahead}, {bytes_text(int(rate))}/s"
        if self._live:
            self.clear(safe_text(line)[: terminal_width(sys.stderr) - 1])
        else:
            say_note(line)

    def clear(self, line: str = "") -> None:
        """Replace the last line."""
        if self._live and not self._quiet:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
