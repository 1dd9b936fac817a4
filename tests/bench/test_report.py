"""The tables and the JSON of the measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from bench.logs import Log
from bench.measure import Outcome
from bench.process import Reading
from bench.report import Measured, machine_facts, ratios, render, to_json
from bench.tasks import Task

MEBIBYTE = 1 << 20


def outcome(name: str, *cpu: float, against: tuple[str, ...] = (), reason: str | None = None) -> Outcome:
    readings = [Reading(seconds, seconds * 2, 30 * MEBIBYTE, 0) for seconds in cpu]
    return Outcome(Task(name, ("true",), against=against), readings, reason)


LOG = Log("oltp", Path("/logs/mysql-bin.000001"), 1_000_000_000, "MySQL 9.7.0", "u:9", "u:8")

OUTCOMES = [
    outcome("slow", 2.5, 2.0, 4.0),
    outcome("fast", 0.5, 0.75, 0.625, against=("slow", "missing", "absent")),
    outcome("missing", reason="not there"),
]

TABLE = """\
oltp: a log
1,234,567 transactions, 8 events
task     CPU s  median  wall s  peak MiB  GB/s  CPU of others, as a multiple
slow      2.00    2.50    4.00        30  0.50
fast     0.500   0.625    1.00        30  2.00  slow 4.00
missing  not there
"""


def test_a_table_has_a_line_a_task_with_least_and_median_and_ratios_of_the_least() -> None:
    contents = {"transactions": 1_234_567, "events": 8}
    assert render(Measured("oltp: a log", LOG, contents, OUTCOMES)) == TABLE


def test_a_table_of_nothing_but_reasons_has_its_headings() -> None:
    lines = render(Measured("title", None, {}, [outcome("one", reason="not there")])).splitlines()
    assert lines[0] == "title"
    assert lines[1].startswith("task  CPU s")
    assert lines[2] == "one   not there"


def test_ratios_leave_out_what_was_not_measured() -> None:
    assert ratios(OUTCOMES[1], OUTCOMES) == {"slow": 4.0}
    assert ratios(OUTCOMES[2], OUTCOMES) == {}


def test_a_task_on_two_logs_is_compared_by_wall_time_and_has_read_both() -> None:
    two = outcome("two jobs", 1.0)
    two.task = replace(two.task, wall_against=("slow",), names=("one", "two"))
    assert ratios(two, [*OUTCOMES, two]) == {"wall of slow": 2.0}
    assert render(Measured("title", LOG, {}, [two])).splitlines()[-1].split() == [
        *("two", "jobs"),
        *("1.00", "1.00", "2.00", "30", "2.00"),
    ]


def test_the_json_has_every_reading() -> None:
    document = json.loads(json.dumps(to_json({"cores": "2"}, [Measured("t", LOG, {}, OUTCOMES)])))
    log = document["logs"][0]
    assert log["log"]["path"] == "/logs/mysql-bin.000001"
    assert [reading["cpu"] for reading in log["tasks"][0]["readings"]] == [2.5, 2.0, 4.0]
    assert log["tasks"][1]["ratios"] == {"slow": 4.0}
    assert log["tasks"][2]["reason"] == "not there"


def test_the_machine_is_named() -> None:
    facts = machine_facts()
    assert int(facts["cores"]) >= 1
    assert all(facts.values())
