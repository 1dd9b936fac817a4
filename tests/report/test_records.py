"""What commands print as JSON is what the vocabulary says, name by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.statement_batches import statements_schema
from binx.log.index.transactions import index_schema
from binx.pull.pull_state import PulledChain, PullState, now_text
from binx.report.records import RECORDS, names_of
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
)
from testdata import json_page
from tests.cli.process import Ended, binx
from tests.conftest import TESTDATA

SHOP = TESTDATA / "mysql-9.7" / "shop"
LOGS = sorted(SHOP.glob("mysql-bin.0*"))
SMALL = TESTDATA / "mysql-9.7" / "small"
MARIADB = sorted((TESTDATA / "mariadb-10.11" / "shop").glob("mysql-bin.0*"))

TYPES: dict[str, type | tuple[type, ...]] = {
    INTEGER: int,
    NUMBER: (int, float),
    TEXT: str,
    BOOLEAN: bool,
    TIME: str,
    GTIDS: str,
    OBJECT: object,
    TEXTS: list,
    NUMBERS: list,
    OBJECTS: list,
}


def check(name: str, document: dict[str, Any]) -> None:
    """Hold a document to its record, and what is in it to theirs."""
    record = RECORDS[name]
    if not record.members:
        return
    known = [member for member in record.members if member in document]
    assert list(document) == known, f"{name} has other names, or in another order"
    for member in record.members.values():
        if member.name not in document:
            assert member.can_be_absent, f"{name} has no {member.name}"
            continue
        value = document[member.name]
        if value is None:
            assert member.can_be_null, f"{member.name} of {name} is null"
            continue
        field = FIELDS[member.name]
        assert isinstance(value, TYPES[field.type]), f"{member.name} of {name} is {value!r}"
        assert field.type == BOOLEAN or not isinstance(value, bool) or field.type == OBJECT
        if member.record:
            parts: list[Any] = value if isinstance(value, list) else [value]
            for one in parts:
                check(member.record, one)


def places(work: Path) -> dict[str, Any]:
    """What the commands below read and write."""
    logs = work / "logs"
    logs.mkdir()
    for log in LOGS:
        shutil.copy(log, logs)
    return {"logs": logs, "work": work, "archive": work / "archive", "lake": work / "lake"}


def archive(at: dict[str, Any], *options: str | Path) -> Ended:
    binx("archive", at["logs"], "--to", at["archive"])
    return binx("archive", "--json", *options, "--to", at["archive"])


def pulled(at: dict[str, Any]) -> Ended:
    PullState([PulledChain("", "mysql-bin.000001", "mysql", "uuid", 7, "9.7.0", now_text())]).write(
        at["work"]
    )
    return binx("pull", "--status", at["work"], "--json")


def damaged(at: dict[str, Any]) -> Path:
    log = at["logs"] / "mysql-bin.000002"
    log.chmod(0o644)
    content = bytearray(log.read_bytes())
    content[100_000] ^= 1
    log.write_bytes(content)
    return Path(log)


def exported(at: dict[str, Any], *options: str) -> Ended:
    return binx("to-parquet", "--json", *LOGS[:2], *options, "-o", at["lake"])


def stated(at: dict[str, Any]) -> Ended:
    wanted = ("--table", "shop.orders", "--at", "mysql-bin.000002:63824", "-o", at["work"] / "orders.csv")
    return binx("state", "--json", *LOGS, *wanted)


def configured(at: dict[str, Any]) -> Ended:
    config = at["work"] / "config.toml"
    config.write_text('tz = "+02:00"\n[ls]\nlimit = 3\n', "utf-8")
    return binx("config", "--json", env={"BINX_CONFIG": str(config)})


def differing(at: dict[str, Any]) -> Ended:
    return binx("diff", "--json", LOGS[0], LOGS[1])


def planned(*options: str | Path) -> Callable[[dict[str, Any]], Ended]:
    return lambda _: binx("plan", "--json", *options)


def plain(*arguments: str | Path) -> Callable[[dict[str, Any]], Ended]:
    return lambda _: binx(*arguments)


STATS = ("stats", "--json")
WHY = ("why", "--json", "--table", "shop.orders")
FROM = ("--from", "mysql-bin.000002:158")

CASES: list[tuple[str, Callable[[dict[str, Any]], Ended]]] = [
    ("transaction", plain("ls", "--json", *LOGS)),
    ("transaction", plain("ls", "--json", "--quick", *MARIADB)),
    ("transaction", plain("ls", "--json", SMALL / "anonymous_gtids.binlog")),
    ("extracted_transaction", plain("extract", "--format", "json", "-o", "-", LOGS[3])),
    ("extracted_transaction", plain("extract", "--format", "json", "-o", "-", SMALL / "statements.binlog")),
    ("extracted_transaction", plain("extract", "--format", "json", "-o", "-", SMALL / "partial_json.binlog")),
    ("extracted_change", plain("extract", "--format", "json", "--rows", "-o", "-", LOGS[0])),
    ("row_history", plain(*WHY, "--where", "status = 'paid'", *LOGS)),
    ("row_history", plain(*WHY, "--pk", "9007199254740992", *MARIADB)),
    ("row_history", plain(*WHY, "--pk", "9007199254740992", "--create-table", *MARIADB)),
    ("event_of_transaction", plain("show", "--json", "--hex", "--limit", "200", *LOGS)),
    ("event_of_transaction", plain("show", "--json", "--create-table", "--limit", "200", *LOGS)),
    ("event_of_transaction", plain("show", "--json", *MARIADB[:1])),
    ("event", plain("events", "--json", "--inner", LOGS[0])),
    ("event", plain("events", "--json", SMALL / "anonymous_gtids.binlog")),
    ("index", lambda at: binx("index", "--json", *sorted(at["logs"].iterdir()))),
    ("index", lambda at: binx("index", "--json", "--check", *sorted(at["logs"].iterdir()))),
    ("verification", plain("verify", "--json", *LOGS)),
    ("verification", lambda at: binx("verify", "--json", damaged(at), LOGS[3])),
    ("statistics", plain(*STATS, *LOGS)),
    ("statistics", plain(*STATS, "--quick", "--by", "hour,server", *MARIADB)),
    ("statistics", plain(*STATS, "--by", "statement", *MARIADB)),
    ("statistics", plain(*STATS, "--by", "db,table,source,kind,size,file,minute,day,thread", *LOGS)),
    ("statistics", plain(*STATS, "--table", "shop.orders", "--since", "2026-11-21", "--kind", "dml", *LOGS)),
    ("statistics", lambda at: binx(*STATS, "--on-damage", "salvage", damaged(at))),
    ("exported_log", exported),
    (
        "archived_log",
        lambda at: binx("archive", "--json", at["logs"], "--to", at["archive"], "--max-files", "1"),
    ),
    (
        "archived_log",
        lambda at: binx("archive", "--json", at["logs"], "--to", at["archive"], "--parquet", at["lake"]),
    ),
    (
        "archived_log",
        lambda at: (damaged(at), binx("archive", "--json", at["logs"], "--to", at["archive"]))[1],
    ),
    ("listed_log", lambda at: archive(at, "--list")),
    ("archive_check", lambda at: archive(at, "--check", at["logs"])),
    (
        "archive_check",
        lambda at: (archive(at), next(at["archive"].glob("*.000003.*.zst")).unlink(), archive(at, "--check"))[
            2
        ],
    ),
    ("restored", lambda at: archive(at, "--restore", "mysql-bin.000001", "-o", at["work"] / "one")),
    ("restored", lambda at: archive(at, "--restore", "--since", "2026-11-21", "-o", at["work"] / "span")),
    ("plan", planned(*FROM, *LOGS)),
    ("plan", planned(*FROM, "--to-time", "2026-11-21 09:48:53", *LOGS)),
    ("plan", planned(*FROM, LOGS[1], LOGS[3])),
    ("comparison", differing),
    ("comparison", plain("diff", "--json", SHOP, TESTDATA / "mysql-9.7" / "relay")),
    ("pull_status", pulled),
    ("load_status", plain("load", "--status", TESTDATA / "contracts" / "tables-11", "--json")),
    ("state", stated),
    ("config", configured),
]


def record_of(name: str, document: dict[str, Any]) -> str:
    """The record of a line: the last one of ``archive`` is of the run."""
    return "archive_run" if name == "archived_log" and "run" in document else name


@pytest.mark.parametrize(
    ("name", "run"), CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)]
)
def test_output_is_as_the_vocabulary_says(
    name: str, run: Callable[[dict[str, Any]], Ended], tmp_path: Path
) -> None:
    ended = run(places(tmp_path))
    text = ended.out
    documents = [json.loads(text)] if text.startswith("{\n") else list(map(json.loads, text.splitlines()))
    assert documents, ended.err
    for document in documents:
        check(record_of(name, document), document)


def test_every_record_that_a_command_prints_is_looked_at() -> None:
    elsewhere = {"erased", "load", "replayed"}
    """Need Spark, tables that a load has written, or a server: the tests of these look at them."""
    looked_at = {name for name, _ in CASES} | {"archive_run"} | elsewhere
    assert {record.name for record in RECORDS.values() if record.where} == looked_at


def test_records_have_names_of_the_vocabulary_and_use_all_of_them() -> None:
    used = set(chain.from_iterable(record.members for record in RECORDS.values()))
    assert used == set(FIELDS)


def test_objects_are_of_known_records() -> None:
    for record in RECORDS.values():
        for member in record.members.values():
            is_object = FIELDS[member.name].type in (OBJECT, OBJECTS)
            assert bool(member.record) == is_object, f"{member.name} of {record.name}"
            assert not member.record or member.record in RECORDS


def test_columns_have_the_names_of_reports() -> None:
    assert tuple(index_schema().names) == names_of("transaction")
    assert set(names_of("statement")) <= set(statements_schema().names)


def test_the_page_says_what_is() -> None:
    page = json_page.PAGE.read_text("utf-8")
    assert json_page.FIGURES.read_text("utf-8") == json_page.figures(), "run `make transcripts`"
    assert page == json_page.written_again(page), "run `make transcripts`"
