"""The tables of docs/json.md and the types of binx.Figures, made of the vocabulary.

``python -m testdata.json_page`` writes them again; a test holds that they are not stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from binx.report.records import RECORDS, JsonRecord, Member
from binx.report.vocabulary import (
    BOOLEAN,
    FIELDS,
    GTIDS,
    INTEGER,
    NUMBER,
    NUMBERS,
    OBJECT,
    OBJECTS,
    TEXT,
    TEXTS,
    TIME,
    VERSION,
)

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "json.md"
FIGURES = PROJECT / "binx" / "api" / "figures.py"

_TABLES = re.compile(r"(?<=<!-- records -->\n)(.*?)(?=<!-- end of records -->)", re.DOTALL)
_VERSION = re.compile(r"(?<=vocabulary has version )\d+")


def written_again(page: str) -> str:
    """A page with the tables of the vocabulary as it is now."""
    return _VERSION.sub(str(VERSION), _TABLES.sub(lambda _: "\n".join(_lines()), page))


def _lines() -> Iterator[str]:
    yield "### What commands print"
    for record in RECORDS.values():
        if record.where:
            yield from _record(record)
    yield ""
    yield "### Parts of these"
    for record in RECORDS.values():
        if not record.where:
            yield from _record(record)
    yield ""
    yield "### Names"
    yield ""
    yield "| name | type | meaning | in |"
    yield "|---|---|---|---|"
    for name, field in sorted(FIELDS.items()):
        places = ", ".join(_linked(record) for record in RECORDS.values() if name in record.members)
        unit = f", {field.unit}" if field.unit else ""
        yield f"| `{name}` | {field.type}{unit} | {field.meaning} | {places} |"
    yield ""


def _record(record: JsonRecord) -> Iterator[str]:
    yield ""
    yield f"#### {record.name}"
    yield ""
    if record.where:
        yield f"{record.where}."
        yield ""
    if record.members:
        yield ", ".join(
            f"`{name}`"
            + ("?" if member.can_be_null else "")
            + ("*" if member.can_be_absent else "")
            + (f" ({_linked(RECORDS[member.record])})" if member.record else "")
            for name, member in record.members.items()
        )
    if record.note:
        if record.members:
            yield ""
        yield record.note


def _linked(record: JsonRecord) -> str:
    return f"[{record.name}](#{record.name})"


_PYTHON = {
    BOOLEAN: "bool",
    GTIDS: "str",
    INTEGER: "int",
    NUMBER: "float",
    NUMBERS: "list[float]",
    TEXT: "str",
    TEXTS: "list[str]",
    TIME: "str",
}
_FIGURES = '''"""The types of :meth:`binx.Binlogs.stats`, made of the vocabulary by ``make transcripts``."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict
'''


def figures() -> str:
    """The module with the types of the record of statistics and of its parts."""
    parts = ["statistics"]
    for name in parts:
        for one in RECORDS[name].members.values():
            if one.record and RECORDS[one.record].members and one.record not in parts:
                parts.append(one.record)
    return _FIGURES + "".join(map(_typed, parts))


def _typed(name: str) -> str:
    record = RECORDS[name]
    what = "What filled the logs: the record statistics" if record.where else f"The record {name}"
    lines = [f"    {member.name}: {_type_of(member)}" for member in record.members.values()]
    head = [f"class {_class_name(name)}(TypedDict):", f'    """{what} of ``docs/json.md``."""', ""]
    return "\n".join(["", "", *head, *lines, ""])


def _class_name(name: str) -> str:
    words = name.removesuffix("_figures").title().replace("_", "")
    return "Figures" if name == "statistics" else f"{words}Figures"


def _type_of(member: Member) -> str:
    kind = FIELDS[member.name].type
    if member.record:
        plain = _class_name(member.record) if RECORDS[member.record].members else "dict[str, Any]"
        kind = {OBJECT: plain, OBJECTS: f"list[{plain}]"}[kind]
    else:
        kind = _PYTHON[kind]
    kind = f"{kind} | None" if member.can_be_null else kind
    return f"NotRequired[{kind}]" if member.can_be_absent else kind


if __name__ == "__main__":
    FIGURES.write_text(figures(), "utf-8")
    PAGE.write_text(written_again(PAGE.read_text("utf-8")), "utf-8")
