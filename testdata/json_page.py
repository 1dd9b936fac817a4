"""The tables of docs/json.md, made of the vocabulary: ``python -m testdata.json_page`` writes them again.

A test holds that they are not stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from binx.report.records import RECORDS, JsonRecord
from binx.report.vocabulary import FIELDS, VERSION

PAGE = Path(__file__).resolve().parent.parent / "docs" / "json.md"

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


if __name__ == "__main__":
    PAGE.write_text(written_again(PAGE.read_text("utf-8")), "utf-8")
