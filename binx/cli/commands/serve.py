"""``binx serve``: offer logs to replicas."""

from __future__ import annotations

import re
import signal
from datetime import tzinfo
from pathlib import Path

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.options import ZONE, Logs, log_options
from binx.cli.servers import address_of, ending_of, is_loopback, stopped_by_signals
from binx.cli.terminal import say_note
from binx.errors import ExitCode, SourceError, UsageError
from binx.log.selection.options import parse_gtids, resolved
from binx.log.selection.times import Position, parse_position, parse_zoned_time
from binx.recovery.recovery_plan import Target, TargetKind
from binx.serve.login import Account, Entrance, server_tls
from binx.serve.offer import offer_of
from binx.serve.service import Address, Service

EXAMPLES = (
    Example(
        "an archive for replicas on this machine, up to a mistake",
        "binx serve --until '2026-11-21 09:30' archive",
    ),
    Example(
        "then, in the restored server",
        "mysql -e \"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=3307,"
        " SOURCE_SSL=0, SOURCE_USER='any', SOURCE_AUTO_POSITION=1; START REPLICA\"",
    ),
    Example(
        "for replicas elsewhere",
        "binx serve --listen 0.0.0.0:3307 --user repl --password-file secret --tls-cert cert.pem"
        " --tls-key key.pem s3://backup/db1/",
    ),
)

WHO = "Who may connect"

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
"""MariaDB's GTIDs look alike, but are not written with zeros."""


@command("serve", examples=EXAMPLES)
@option(
    "--listen HOST:PORT",
    "address",
    type=parsed(address_of),
    default="127.0.0.1:3307",
    help="Where to listen; any but a loopback address needs --user and TLS. Port 0 takes a free one.",
)
@option(
    "--until GTID|TIME|FILE:POS",
    help="End after this transaction, before this time, or at this position.  [default: the logs' end]",
)
@flag("--once", "End when a replica has received everything; others that have begun are served to the end.")
@option("--user NAME", section=WHO, help="The account that may connect.  [default: any, without a password]")
@option("--password-file FILE", type=PATH, section=WHO, help="Its password: the file's first line.")
@option("--tls-cert FILE", type=PATH, section=WHO, help="Certificate, with those that lead to its CA.")
@option("--tls-key FILE", type=PATH, section=WHO, help="Its private key.")
@ZONE
@log_options(index=False, damage=False)
def serve_command(
    logs: Logs,
    address: Address,
    until: str | None,
    once: bool,
    user: str | None,
    password_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    zone: tzinfo,
) -> ExitCode:
    """Offer logs or an archive to replicas, which apply them in parallel, resumable, filtered by table."""
    entrance = _entrance(address, user, password_file, tls_cert, tls_key)
    target = None if until is None else _until(until, logs.paths, zone)
    with logs.opened("serve", warns=False) as (chain, _):
        offer = offer_of(chain, target)
    say = (lambda _: None) if logs.quiet else say_note
    service = Service(offer, entrance, address, say, once=once)
    with stopped_by_signals(service.stop) as received:
        say(
            f"listening on {service.address}: {offer.logs[0].name} to {offer.end_name}, of"
            f" {offer.description.server_version}; GTIDs {offer.gtids or 'none'}"
        )
        service.run()
    # Where it ends only on request, SIGTERM is that.
    return ending_of(received) if signal.SIGINT in received or (received and once) else ExitCode.DONE


def _until(text: str, paths: tuple[str, ...], zone: tzinfo) -> Target | Position:
    """Read the end: a GTID set, a time, or a position, which a text is in this order; a date is a time."""
    if _DATE.match(text):
        return Target(TargetKind.TIME, time=parse_zoned_time(text, zone))
    try:
        return Target(TargetKind.GTIDS, gtids=resolved(parse_gtids(text), paths))
    except UsageError:
        pass
    try:
        return Target(TargetKind.TIME, time=parse_zoned_time(text, zone))
    except UsageError:
        pass
    try:
        return parse_position(text)
    except UsageError as error:
        raise UsageError(
            f"expected a GTID, a time or a position such as mysql-bin.000042:4711, found {text!r}"
        ) from error


def _entrance(
    address: Address, user: str | None, password_file: str | None, tls_cert: str | None, tls_key: str | None
) -> Entrance:
    if (user is None) != (password_file is None):
        raise UsageError("expected --user and --password-file together")
    if tls_key is not None and tls_cert is None:
        raise UsageError("--tls-key requires --tls-cert")
    is_public = not is_loopback(address.host)
    if is_public and (user is None or tls_cert is None):
        raise UsageError(
            f"{address.host} is no loopback address: whoever reaches it could read every row, so it needs"
            " --user, --password-file, --tls-cert and --tls-key"
        )
    account = None if user is None or password_file is None else Account(user, _password(password_file))
    context = None if tls_cert is None else server_tls(tls_cert, tls_key)
    return Entrance(account, context, requires_tls=is_public)


def _password(path: str) -> str:
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SourceError(f"cannot be read: {reason}", path=path) from error
    if not lines or not lines[0]:
        raise UsageError("expected a password in the first line, found none").at(path=path)
    return lines[0]
