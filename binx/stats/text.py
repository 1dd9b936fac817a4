r"""Format numbers, times and names for people.

Names and values come from untrusted files: control characters and escape sequences are shown as ``\xNN`` and
never sent to the terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from binx.log.selection.times import LATEST_MOMENT, MICROSECONDS

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SURE_SECONDS = 60
_UNIT = 1024
_SECONDS = len("2026-11-21 09:49:11")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that a terminal does not show, or interprets."""
_PERIODS = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_UUID_SHOWN = 8


def bytes_text(count: int) -> str:
    """Format bytes in binary units with three digits: ``312 B``, ``1.46 KiB``, ``23.9 MiB``."""
    if abs(count) < _UNIT:
        return f"{count} B"
    value, unit = float(count), 0
    # 999.5 or more of a unit would need four digits.
    while abs(value) >= 999.5 and unit + 1 < len(_UNITS):
        value /= _UNIT
        unit += 1
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def duration_text(duration: int) -> str:
    """Format a span in µs: ``0 s``, ``12 ms``, ``1.25 s``, ``3 min 04 s``, ``2 h 05 min``, ``3 d 04 h``."""
    seconds = duration / MICROSECONDS
    if seconds < 59.95:
        if 0 < seconds < 0.9995:
            return f"{duration / 1_000:.3g} ms"
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02d} h"
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def period_text(seconds: int) -> str:
    """Format a period in words: ``hour``, ``5 minutes``, ``2 weeks``."""
    unit, size = next((unit, size) for unit, size in _PERIODS if seconds % size == 0)
    return unit if seconds == size else f"{seconds // size:,} {unit}s"


def transaction_duration_text(seconds: int | None) -> str:
    """Format a transaction's duration: ``0–1 s``, ``11–13 s``, ``3 min 04 s``.

    Args:
        seconds: between its begin time and its commit time, whose fractions are not known.
    """
    if seconds is None:
        return "-"
    if seconds >= _SURE_SECONDS:
        return duration_text(seconds * MICROSECONDS)
    return f"{max(seconds - 1, 0)}\N{EN DASH}{seconds + 1} s"


def time_text(moment: int, zone: tzinfo = UTC) -> str:
    """Format µs since 1970 in a zone: ``2026-11-21 09:49:11.750000``.

    Times outside the calendar, as in damaged files, are shown as seconds since 1970.
    """
    if not -MICROSECONDS < moment <= LATEST_MOMENT:
        return f"@{moment // MICROSECONDS}"
    try:
        shown = (_EPOCH + timedelta(microseconds=moment)).astimezone(zone).replace(tzinfo=None).isoformat(" ")
    except OverflowError:
        return f"@{moment // MICROSECONDS}"
    return shown


def second_text(moment: int, zone: tzinfo = UTC) -> str:
    """Format µs since 1970 like :func:`time_text`, without the fraction of a second."""
    return time_text(moment, zone)[:_SECONDS]


def safe_text(text: str) -> str:
    r"""Make a text safe for a terminal: invisible characters become ``\xNN`` or ``\uNNNN``."""
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def moment_of(shown: str | int) -> int:
    """Return the time from the result of :func:`~binx.log.selection.times.moment_json`."""
    if isinstance(shown, int):
        return shown
    return (datetime.fromisoformat(shown) - _EPOCH) // timedelta(microseconds=1)


def short_transaction(transaction: str) -> str:
    """Return a GTID with an abbreviated UUID, enough to distinguish servers."""
    source, colon, number = transaction.partition(":")
    return f"{source[:_UUID_SHOWN]}{ELLIPSIS}:{number}" if colon else source


def text_width(text: str) -> int:
    """Return the terminal columns of a safe text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit_text(text: str, width: int) -> str:
    """Truncate a safe text to a number of columns, with an ellipsis if anything was cut off."""
    if text_width(text) <= width:
        return text
    if width <= 0:
        return ""
    from rich.cells import set_cell_size

    # A space replaces half of a wide character.
    cut = set_cell_size(text, width - 1)
    return (cut if text.startswith(cut) else cut[:-1]) + ELLIPSIS


def pad_text(text: str, width: int, *, right: bool = False) -> str:
    """Pad a safe text with spaces to a number of columns."""
    gap = " " * max(width - text_width(text), 0)
    return gap + text if right else text + gap


def tables_text(changes: Sequence[Mapping[str, Any]] | None) -> str:
    """Format table changes: ``shop.orders +3 ~1`` for three inserts and an update, a minus for deletes."""
    texts = []
    for change in changes or ():
        signs = (("+", change["inserts"]), ("~", change["updates"]), ("-", change["deletes"]))
        counts = [f"{sign}{count:,}" for sign, count in signs if count]
        texts.append(" ".join([safe_text(f"{change['db']}.{change['table']}"), *counts]))
    return ", ".join(texts)
