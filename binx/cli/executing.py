"""``plan --execute``: bring a restored server to a plan's target, and show how far it is."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from binx.cli.command import PATH, combined, option, parsed
from binx.cli.options import Logs
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.servers import address_of, ending_of, is_loopback, login_of, server_options, stopped_by_signals
from binx.cli.terminal import say_note, say_warning
from binx.errors import ExitCode, UsageError
from binx.log.backup_position import BackupPosition
from binx.log.selection.table_filter import table_name
from binx.recovery.recovery_plan import RecoveryPlan, Target, plan_recovery
from binx.serve.login import Entrance, server_tls
from binx.serve.replay import (
    Outcome,
    Replay,
    ReplayProgress,
    effect_on_tables,
    held_by_backup,
    inconsistent,
    offer_of_plan,
)
from binx.serve.replica import connected_replica
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text

_MINUTE = 60.0


def execution_options(section: str) -> Callable[[Any], Any]:
    """Add the options that :func:`execute_plan` reads."""
    return combined(
        option(
            "--target URL",
            "server",
            section=section,
            help="The restored server, mysql://USER@HOST:PORT.  [default: as option files say]",
        ),
        option(
            "--tables DB.TABLE",
            "tables",
            multiple=True,
            type=parsed(table_name),
            section=section,
            help="Replay this table alone, by the server's replication filter; may be repeated.",
        ),
        option(
            "--listen HOST:PORT",
            "address",
            type=parsed(address_of),
            default="127.0.0.1:0",
            show_default="a free port of 127.0.0.1",
            section=section,
            help="Where the restored server finds binx; any but a loopback address needs --listen-cert.",
        ),
        option("--listen-cert FILE", type=PATH, section=section, help="Certificate of binx, for TLS."),
        option("--listen-key FILE", type=PATH, section=section, help="Its private key."),
        server_options(section),
    )


def execute_plan(
    logs: Logs,
    backup: BackupPosition | None,
    target: Target,
    options: dict[str, Any],
    show: Callable[[RecoveryPlan, dict[str, Any] | None], None],
) -> ExitCode:
    """Carry out a plan.

    Args:
        backup: its position; None for where the restored server is.
        options: those of :func:`execution_options`.
        show: prints the plan, at first without, at last with what was replayed.
    """
    login, tables, address = login_of(options["server"], options), options["tables"], options["address"]
    if address.host in ("0.0.0.0", "::"):
        raise UsageError(
            f"expected the address at which the target finds binx, found {address.host}, which means all"
        )
    certificate = options["listen_cert"]
    if certificate is None and not is_loopback(address.host):
        raise UsageError(f"{address.host} is no loopback address: it needs --listen-cert and --listen-key")
    tls = None if certificate is None else server_tls(certificate, options["listen_key"])
    with logs.opened("plan", warns=False) as (chain, _):
        if backup is None:
            with connected_replica(login, chain[0].file.format.flavour) as replica:
                backup = BackupPosition(gtids=replica.executed, noted_in=login.server)
        if not backup:
            raise UsageError("expected the backup (--backup PATH), as the target has no GTIDs that say it")
        plan = plan_recovery(chain, backup, target)
        show(plan, None)
        if not (plan.replayable and plan.covered):
            return ExitCode.DONE if plan.covered else ExitCode.ABSENT
        offer = offer_of_plan(chain, plan)
        held = held_by_backup(chain, backup)
        torn = inconsistent(tables, effect_on_tables(chain, plan, tables)) if tables else []
    for sentence in torn:
        say_warning(sentence)
    begun = monotonic()
    with progress_bar("replay", quiet=logs.quiet) as bar:
        watch = _Watch(bar, quiet=logs.quiet)
        replay = Replay(
            plan,
            offer,
            login,
            held,
            listen=address,
            entrance=Entrance(tls=tls, requires_tls=tls is not None),
            tables=tables,
            say=watch.note,
            tick=watch.tick,
        )
        with stopped_by_signals(replay.stop) as received:
            outcome = replay.run()
    seconds = monotonic() - begun
    show(plan, _document(outcome, seconds))
    _report(outcome, seconds)
    return ExitCode.DONE if outcome.is_complete else ending_of(received)


class _Watch:
    """Shows how far a replay is: on a terminal as a bar, else in a line per minute."""

    def __init__(self, bar: ProgressBar, *, quiet: bool) -> None:
        self._bar = bar
        self._quiet = quiet
        self._begun = self._last = monotonic()
        self._first: int | None = None

    def note(self, text: str) -> None:
        """Print an event of interest."""
        self._bar.hide()
        if not self._quiet:
            say_note(text)

    def tick(self, step: ReplayProgress) -> None:
        """Show a step."""
        self._bar.reach(step.bytes, step.total)
        now = monotonic()
        if self._first is None:
            self._first, self._begun = step.bytes, now
        if now - self._last < _MINUTE:
            return
        self._last = now
        rate = (step.bytes - self._first) / (now - self._begun)
        left = "" if not rate else f", {(step.total - step.bytes) / rate:,.0f} s left"
        done = f"{bytes_text(step.bytes)} of {bytes_text(step.total)}, {bytes_text(int(rate))}/s"
        self.note(f"{counted(step.transactions, 'transaction')}, {done}{left}")


def _report(outcome: Outcome, seconds: float) -> None:
    """Say on standard error what was done."""
    say_note(f"replayed: {counted(outcome.transactions, 'transaction')} in {seconds:,.1f} s")
    if outcome.gtids:
        say_note(f"the target has {safe_text(str(outcome.gtids))}")
    if not outcome.is_complete:
        say_note("stopped before the end; the same command goes on")
    else:
        say_note("its GTIDs are those of the backup and of the logs up to the end")
    if outcome.own:
        say_warning(f"it has transactions that are in neither backup nor logs: {safe_text(str(outcome.own))}")


def _document(outcome: Outcome, seconds: float) -> dict[str, Any]:
    return {
        "complete": outcome.is_complete,
        "transactions": outcome.transactions,
        "seconds": round(seconds, 3),
        "gtid_set": outcome.gtids,
        "own_gtids": outcome.own,
    }
