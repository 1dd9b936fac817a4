"""Servers that a command connects to (URL, options, option files, environment), or is itself."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Event
from types import FrameType
from typing import Any

import click

from binx.cli.command import PATH, combined, flag, option
from binx.cli.terminal import say_warning
from binx.errors import ExitCode, UsageError
from binx.pull.connection_parameters import (
    PORT,
    Login,
    Tls,
    TlsMode,
    parse_url,
    read_defaults,
    read_public_key,
)
from binx.serve.service import Address

_ADDRESS = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")


def server_options(section: str) -> Callable[[Any], Any]:
    """Add the options that :func:`login_of` reads."""
    return combined(
        option("--socket PATH", type=PATH, section=section, help="Unix socket of the server."),
        option("--user NAME", section=section, help="Account.  [default: your own name]"),
        flag("--ask-password", "Ask for the password on the terminal.", section=section),
        option(
            "--defaults-file FILE",
            type=PATH,
            section=section,
            help="Read only this option file, and not /etc/my.cnf, /etc/mysql/my.cnf and ~/.my.cnf.",
        ),
        option(
            "--tls",
            "tls_mode",
            type=click.Choice([mode.value for mode in TlsMode]),
            section=section,
            help="Encryption.  [default: verify-ca with --tls-ca, required with --tls-cert, else preferred]",
        ),
        option("--tls-ca FILE", type=PATH, section=section, help="Certificates of trusted authorities."),
        option("--tls-cert FILE", type=PATH, section=section, help="Client certificate."),
        option("--tls-key FILE", type=PATH, section=section, help="Its private key."),
        option(
            "--server-public-key FILE",
            "public_key",
            type=PATH,
            section=section,
            help="The server's RSA key (public_key.pem), to send the password without TLS.",
        ),
    )


def login_of(server: str | None, options: dict[str, Any]) -> Login:
    """Return the connection parameters: from options and URL, else option files, else the environment."""
    url_fields = {} if server is None else parse_url(server)
    if url_fields.get("password"):
        say_warning(
            "other users of this machine can see the password in the command line; use MYSQL_PWD,"
            " --defaults-file or --ask-password"
        )
    defaults = read_defaults(options["defaults_file"])
    # The option file's socket belongs to the option file's host.
    socket = options["socket"] or (defaults.get("socket") if server is None else None)
    port = str(url_fields.get("port") or defaults.get("port") or PORT)
    if not port.isdecimal():
        raise UsageError(f"expected a port, found {port!r} in the option file")
    password = str(url_fields.get("password") or defaults.get("password") or os.environ.get("MYSQL_PWD", ""))
    if options["ask_password"]:
        password = click.prompt("Password", hide_input=True, default="", show_default=False, err=True)
    mode = options["tls_mode"] or defaults.get("ssl-mode", "").lower().replace("_", "-") or None
    mode = {"disabled": TlsMode.DISABLE.value}.get(mode or "", mode)
    if mode is not None and mode not in [tls_mode.value for tls_mode in TlsMode]:
        raise UsageError(f"expected a mode of TLS, found {mode!r} in the option file")
    key_file = options["public_key"]
    if key_file is not None:
        if mode not in (None, TlsMode.DISABLE.value):
            raise UsageError("--server-public-key is for connections without TLS; leave out --tls")
        mode = TlsMode.DISABLE.value
    files = [options[f"tls_{name}"] or defaults.get(f"ssl-{name}") for name in ("ca", "cert", "key")]
    return Login(
        host=str(url_fields.get("host") or defaults.get("host") or "localhost"),
        port=int(port),
        socket=socket,
        user=str(options["user"] or url_fields.get("user") or defaults.get("user") or ""),
        password=password,
        tls=Tls.of(mode, *files),
        public_key=None if key_file is None else read_public_key(key_file),
    )


def address_of(text: str) -> Address:
    """Read where to listen, as ``127.0.0.1:3307``."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65535:
        raise UsageError(f"expected an address such as 127.0.0.1:3307, found {text!r}")
    return Address(match[1] or match[2], int(match[3]))


def ending_of(signals: list[int]) -> ExitCode:
    """Return the exit code of a command that was ended by signals."""
    return ExitCode.INTERRUPTED if signal.SIGINT in signals else ExitCode.TERMINATED


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def stopped_by_signals(stop: Event, ends_at_once: Callable[[], bool] = lambda: False) -> Iterator[list[int]]:
    """Set an event on SIGTERM and SIGINT; yields the signals received.

    Args:
        ends_at_once: whether a signal also ends the program at once, as it does elsewhere.
    """
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop.set()
        handler = before[signal.Signals(number)]
        if ends_at_once() and callable(handler):
            handler(number, frame)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
