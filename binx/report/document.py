"""Records as JSON, with the names, order and forms of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from binx.event.gtid.sets import GtidSet
from binx.log.selection.times import moment_json
from binx.report.records import RECORDS
from binx.report.vocabulary import FIELDS, TIME
from binx.source.json_text import json_text
from binx.source.log_names import printable


def document(record: str, source: object) -> dict[str, Any]:
    """Return a record as plain JSON values.

    Args:
        record: the record's name.
        source: has its members as keys, if it is a mapping, or as attributes. Times may be µs since 1970.
            None stands for a member that is left out, if it may not be null.
    """
    if type(source) is tuple:
        source = dict(zip(RECORDS[record].members, source, strict=True))
    values: dict[str, Any] = {}
    for name, member in RECORDS[record].members.items():
        is_there = name in source if isinstance(source, Mapping) else hasattr(source, name)
        if not is_there and member.can_be_absent:
            continue
        value = source[name] if isinstance(source, Mapping) else getattr(source, name)
        if value is None and member.can_be_absent and not member.can_be_null:
            continue
        if FIELDS[name].type == TIME and isinstance(value, int):
            value = moment_json(value)
        values[name] = _plain(value, member.record)
    return values


def json_line(record: str, source: object) -> str:
    """Return a record as JSON in one line."""
    return json_text(document(record, source))


def _plain(value: Any, record: str) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, GtidSet):
        return {"gtid_set": str(value), "transactions": value.count} if record else str(value)
    if record and RECORDS[record].members:
        many = (
            isinstance(value, Iterable) and not isinstance(value, Mapping) and not hasattr(value, "_fields")
        )
        return [document(record, one) for one in value] if many else document(record, value)
    if isinstance(value, Mapping):
        return {printable(name): _plain(one, record) for name, one in value.items()}
    return [_plain(one, record) for one in value]
