"""The options that select transactions, once for the commands, the Python API and Spark's data source.

A command has each as ``--exclude-gtid``, Python as ``exclude_gtid``, Spark as ``excludeGtid``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import Any, NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.scanning import KIND_NAMES
from binx.log.selection.gtid_names import has_short_uuids, position_of, with_whole_uuids
from binx.log.selection.selection import Selection, wanted_gtids
from binx.log.selection.times import Position, format_time, parse_position, parse_size, parse_zoned_time
from binx.source.wording import did_you_mean

_LARGEST = (1 << 64) - 1


class ShortGtids(str):
    """A GTID set with abbreviated UUIDs."""


class SelectionOption(NamedTuple):
    """An option.

    Attributes:
        name: its name in Python.
        field: the field of :class:`~binx.log.selection.selection.Selection` that it sets, or its own name.
        parse: what makes a value of a text; raises UsageError.
        metavar: its value in the commands' help.
        aliases: further names of the commands' option; mysqlbinlog's among them.
        several: whether several values may be given, of which one must match.
        words: what its values are made of, if they are few.
    """

    name: str
    field: str
    parse: Callable[[str], Any]
    metavar: str
    help: str
    aliases: tuple[str, ...] = ()
    several: bool = False
    words: tuple[str, ...] = ()


def parse_gtids(text: str) -> GtidSet | ShortGtids:
    """Parse a GTID set; with abbreviated UUIDs, to be completed from the logs, keep the text."""
    return ShortGtids(text) if has_short_uuids(text) else wanted_gtids(text)


def parse_kinds(text: str) -> tuple[int, ...]:
    """Parse names of transaction kinds, ``xa`` for all XA steps, into their numbers."""
    names = [name.strip().lower() for name in text.split(",")]
    numbers = [
        [number for number, kind in enumerate(KIND_NAMES) if kind == name or kind.startswith(f"{name}_")]
        for name in names
    ]
    if not all(numbers):
        wrong = names[numbers.index([])]
        raise UsageError(
            f"expected kinds such as {', '.join(KIND_NAMES)} or xa, found {wrong!r}"
            f"{did_you_mean(wrong, KIND_NAMES)}"
        )
    return tuple(number for matching in numbers for number in matching)


def _time_text(text: str) -> str:
    """Check that a text is a time; its zone may come from another option."""
    parse_zoned_time(text)
    return text


def _number(text: str) -> int:
    number = int(text) if text.strip().isdecimal() else -1
    if not 0 <= number <= _LARGEST:
        raise UsageError(f"expected a whole number of at most 64 bits, found {text}")
    return number


def _limit(text: str) -> int:
    if not text.strip().isdecimal() or not int(text):
        raise UsageError(f"expected a limit of at least 1 transaction, found {text}")
    return min(int(text), (1 << 63) - 1)


OPTIONS = (
    SelectionOption(
        "gtid",
        "gtids",
        parse_gtids,
        "SET",
        "GTID in this set: uuid:1-5:7, uuid:100-, uuid:tag:1-3, 0-1-100..200; separate several by"
        " commas. The first four digits of a UUID, or more, are enough.",
        ("--include-gtids",),
        several=True,
    ),
    SelectionOption(
        "exclude_gtid",
        "exclude_gtids",
        parse_gtids,
        "SET",
        "GTID not in this set.",
        ("--exclude-gtids",),
        several=True,
    ),
    SelectionOption(
        "from_gtid", "from_gtid", parse_gtids, "GTID", "From this transaction on, in the order of the logs."
    ),
    SelectionOption(
        "until_gtid", "until_gtid", parse_gtids, "GTID", "Up to this transaction, itself included."
    ),
    SelectionOption(
        "since",
        "since",
        _time_text,
        "TIME",
        "Committed at or after this time: 11:50, today, yesterday, '20 minutes ago',"
        " '2026-11-21 02:10 Europe/Berlin'. Without a zone: that of --tz.",
        ("--start-datetime",),
    ),
    SelectionOption(
        "until", "until", _time_text, "TIME", "Committed before this time.", ("--stop-datetime",)
    ),
    SelectionOption(
        "start_position",
        "start",
        parse_position,
        "POS",
        "Starting at or after this position: POS, or FILE:POS with several files.",
        ("-j",),
    ),
    SelectionOption("stop_position", "stop", parse_position, "POS", "Ending at or before this position."),
    SelectionOption(
        "db",
        "databases",
        str,
        "GLOB",
        "Touching a table in this database; * and ? match.",
        ("-d", "--database"),
        several=True,
    ),
    SelectionOption(
        "table",
        "tables",
        str,
        "DB.TABLE",
        "Touching this table; * and ? match: 'shop.*'.",
        ("-T",),
        several=True,
    ),
    SelectionOption(
        "exclude_table",
        "exclude_tables",
        str,
        "DB.TABLE",
        "Touching more than this table, and without its rows; * and ? match: '*.audit_log'.",
        several=True,
    ),
    SelectionOption("server_id", "server_ids", _number, "N", "First executed on this server.", several=True),
    SelectionOption("thread_id", "thread_ids", _number, "N", "Executed by this connection.", several=True),
    SelectionOption("xid", "xids", _number, "N", "With this storage engine XID.", several=True),
    SelectionOption(
        "kind",
        "kinds",
        parse_kinds,
        "LIST",
        "Of this kind: ddl, dml, xa, rollback and so on; separate several by commas.",
        several=True,
        words=(*KIND_NAMES, "xa"),
    ),
    SelectionOption(
        "grep",
        "texts",
        str,
        "TEXT",
        "With this text in a statement, in upper or lower case; also in those logged with rows.",
        several=True,
    ),
    SelectionOption(
        "min_bytes", "min_bytes", parse_size, "SIZE", "At least this size in the file: 4096, 64K, 10M."
    ),
    SelectionOption("limit", "limit", _limit, "N", "Only the first N that match."),
)
"""All options, in the order of the commands' help."""

BY_NAME = {option.name: option for option in OPTIONS}


def text_of(value: object) -> str:
    """Return a Python value as the text of an option: a time without a zone is in UTC.

    Raises:
        UsageError: it is of no type that an option has.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UsageError(f"expected a text or a whole number, found {value!r}")
    return str(value)


def parsed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return Python values of options, each one value or several, as the options' parsers do.

    Raises:
        UsageError: there is no such option, or a value is invalid.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        option = BY_NAME.get(name)
        if option is None:
            raise UsageError(f"no option {name!r} selects transactions{did_you_mean(name, BY_NAME)}")
        is_one = isinstance(value, str) or not isinstance(value, Iterable)
        if not option.several and not is_one:
            raise UsageError(f"expected one value of {name}, found {value!r}")
        texts = [text_of(one) for one in ([value] if is_one else value)]
        found[name] = tuple(map(option.parse, texts)) if option.several else option.parse(texts[0])
    return found


def selection_of(
    values: Mapping[str, Any],
    paths: Sequence[str] | None = None,
    zone: tzinfo = UTC,
    *,
    one_server: bool = True,
) -> Selection:
    """Return the selection that parsed values of options make.

    Args:
        values: by the options' names in Python; None and the empty tuple are no condition.
        paths: the logs, in which short UUIDs and single GTIDs are looked up; None if they cannot be.
        zone: of times without one.
        one_server: whether the logs are of one server, so that a GTID has one position.

    Raises:
        UsageError: the values contradict each other, or need logs.
        AbsentError: a GTID from or until which to select is not in the logs.
    """
    given = {name: value for name, value in values.items() if value is not None and value != ()}
    fields = {BY_NAME[name].field: value for name, value in given.items()}
    for name in ("gtids", "exclude_gtids"):
        if name in fields:
            fields[name] = GtidSet().union(*(resolved(one, paths) for one in fields[name]))
    for name, bound, after in (("from_gtid", "start", False), ("until_gtid", "stop", True)):
        gtid = fields.pop(name, None)
        if gtid is None:
            continue
        if bound in fields or paths is None or not one_server:
            raise UsageError(
                f"--{name.replace('_', '-')} cannot be used with a position, nor for two servers"
            )
        fields[bound] = position_of(resolved(gtid, paths), paths, after=after)
    if "kinds" in fields:
        fields["kinds"] = tuple(kind for kinds in fields["kinds"] for kind in kinds)
    for name in ("since", "until"):
        if name in fields:
            fields[name] = parse_zoned_time(fields[name], zone)
    selection = Selection(**fields)
    selection.check()
    return selection


def as_options(selection: Selection) -> dict[str, Any]:
    """Return a selection's conditions by the options' names, as plain JSON values, without empty ones."""
    given: dict[str, Any] = {}
    for option in OPTIONS:
        value = getattr(selection, option.field, None)
        if value is None or value == ():
            continue
        if option.field in ("since", "until"):
            value = format_time(value)
        elif option.field == "kinds":
            value = [KIND_NAMES[kind] for kind in value]
        elif isinstance(value, GtidSet | Position):
            value = str(value)
        given[option.name] = list(value) if isinstance(value, tuple) else value
    return given


def resolved(gtids: GtidSet | ShortGtids, paths: Sequence[str] | None) -> GtidSet:
    """Return a set with whole UUIDs; abbreviated ones are completed from the logs."""
    if not isinstance(gtids, ShortGtids):
        return gtids
    if paths is None:
        raise UsageError(f"expected whole UUIDs, found {gtids}")
    return with_whole_uuids(gtids, paths)
