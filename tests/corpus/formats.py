"""Writes ``docs/formats.md`` from what the tests observe: ``python -m tests.corpus.formats``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_type_hints

from binx.event.column import ColumnType
from binx.event.format import parse_format
from binx.event.header import EventType, event_name
from binx.event.parse import event_parser
from tests.conftest import PROJECT, TESTDATA
from tests.corpus.observing import READ, Observation, load_observations, observe

PAGE = PROJECT / "docs" / "formats.md"

FOLDERS = {"MySQL 9.7": TESTDATA / "mysql-9.7", "MariaDB 10.11": TESTDATA / "mariadb-10.11"}

BEGINNING = """\
# Formats

What binx makes of the logs of each server. This page is written by `make formats` from what the tests \
observe: a corpus of {files} files of other servers and projects (`tests/corpus/observed.tsv`, a line a \
file, compared with what `mysqlbinlog`, `mariadb-binlog` and a catalogue say of them), and the logs in \
`testdata/`, made by MySQL 9.7 and MariaDB 10.11. Random workloads on live servers of those two come on \
top (`make test-live`): values from Parquet against SELECT, events and rows against the servers' own \
readers, replayed slices against the tables.

## Files

A file is *read* when all its events are accounted for and all its rows decoded. *Rows* are row images.
"""

HIDDEN_FRACTIONS = """
Of no file here, but of MariaDB before 10.1, or with `mysql56_temporal_format=OFF`: rows of tables whose \
TIME(n), DATETIME(n) or TIMESTAMP(n) columns have a fraction of a second. The log does not tell how many \
bytes it takes (`mariadb-binlog -v` fails on them). Such rows are told by a length or by null bits that do \
not fit, or by a definition with a fraction, and stop with a message; `--on-damage salvage` takes the other \
transactions, and `extract --gtid` without `--table` any."""

UNKNOWN = "unknown"

_SERIES = re.compile(r"(\d+\.\d+)\.\d+")
_PERCONA = re.compile(r"\d+\.\d+\.\d+-(?:\d+\.\d+|\d+-debug)")


def series(one: Observation) -> str:
    """The kind of server that wrote a file of the corpus, and its release series."""
    name = one.file
    found = _SERIES.match(name) or _SERIES.match(one.server)
    if found is None:
        return UNKNOWN
    if "mariadb" in name:
        kind = "MariaDB"
    elif "google" in name:
        kind = "MySQL with Google's patches"
    elif "-a-drop" in name:
        kind = "MySQL, a development tree"
    elif "-ndb-" in name or "cluster" in name:
        kind = "MySQL Cluster"
    elif _PERCONA.match(name):
        kind = "Percona Server"
    else:
        kind = "MySQL"
    return f"{kind} {found[1]}"


def order(name: str) -> tuple[bool, bool, str, list[int]]:
    """Servers by kind and release."""
    kind, _, release = name.rpartition(" ")
    return (
        name == UNKNOWN,
        not kind.startswith("MySQL"),
        kind,
        [int(part) for part in release.split(".") if part.isdigit()],
    )


def page() -> str:
    """The page's text."""
    observed: dict[str, list[Observation]] = defaultdict(list)
    for one in load_observations():
        observed[series(one)].append(one)
    files = sum(len(ones) for ones in observed.values())
    for name, folder in FOLDERS.items():
        observed[name] += [observe(path) for path in logs(folder)]
    ordered = {name: observed[name] for name in sorted(observed, key=order)}
    parts = [BEGINNING.format(files=files), *files_table(ordered), *errors_table(ordered)]
    parts += [*events_table(ordered), *columns_table(ordered)]
    return "\n".join(parts) + "\n"


def logs(folder: Path) -> list[Path]:
    """The logs that ship with the project."""
    return sorted(
        [*folder.glob("small/*.binlog"), *folder.glob("shop/mysql-bin.0*"), *folder.glob("in-use/*")]
    )


def table(names: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(list(names))}"
    for row in rows:
        yield f"| {' | '.join(str(cell) for cell in row)} |"


def files_table(observed: dict[str, list[Observation]]) -> Iterator[str]:
    """What comes of the files of each server."""
    rows = []
    for name, ones in observed.items():
        outcomes = Counter(one.outcome for one in ones)
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        transactions, images = sum(one.transactions for one in ones), sum(one.rows for one in ones)
        rows.append((name, len(ones), said, f"{transactions:,}", f"{images:,}"))
    yield from table(("server", "files", "outcome", "transactions", "rows"), rows)


def errors_table(observed: dict[str, list[Observation]]) -> Iterator[str]:
    """What is said of files that are not read."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for name, ones in observed.items():
        for one in ones:
            if one.outcome != READ:
                reasons.setdefault((one.outcome, one.message), {})[name] = None
    yield "\n## What is not read as it is\n"
    yield "*Stopped*: by an error, behind what was given. *Refused*: when the file is opened.\n"
    rows = [
        (outcome, f"“{message}”", ", ".join(names)) for (outcome, message), names in sorted(reasons.items())
    ]
    yield from table(("outcome", "the message says", "files of"), rows)
    yield HIDDEN_FRACTIONS


def events_table(observed: dict[str, list[Observation]]) -> Iterator[str]:
    """What each event is read as, and whose logs had it."""
    met: dict[str, dict[str, None]] = defaultdict(dict)
    for name, ones in observed.items():
        for one in ones:
            for part in one.events.split(",") if one.events else ():
                met[part.rsplit(":", 1)[0]][name] = None
    yield "\n## Event types\n"
    yield (
        "An event of another type is passed over and counted where it is marked as ignorable; else it is an"
        " error that names it. Types that no file here has are tested with samples of their bytes.\n"
    )
    rows = []
    for number in EventType:
        if number is EventType.UNKNOWN:
            continue
        parser = parse_format if number is EventType.FORMAT_DESCRIPTION else event_parser(number)
        read = f"`{get_type_hints(parser)['return'].__name__}`" if parser else "its header alone"
        rows.append((int(number), f"`{number.name}`", read, ", ".join(met[event_name(number)]) or "–"))
    yield from table(("number", "event", "read as", "in files of"), rows)


def columns_table(observed: dict[str, list[Observation]]) -> Iterator[str]:
    """The types that columns have in table maps, and whose logs had them."""
    met: dict[str, dict[str, None]] = defaultdict(dict)
    for name, ones in observed.items():
        for one in ones:
            for column in one.columns.split(",") if one.columns else ():
                met[column][name] = None
    yield "\n## Column types\n"
    yield "As table maps name them; [the data set](dataset.md) says what their values become.\n"
    rows = [(int(kind), f"`{kind.name}`", ", ".join(met[kind.name]) or "–") for kind in ColumnType]
    yield from table(("number", "type", "in files of"), rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
