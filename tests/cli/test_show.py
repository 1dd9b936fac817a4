"""``binx show`` and ``binx events``: transactions and events, with names and values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.report.records import names_of
from binx.stats.event_list import PLAIN_EVENT_COLUMNS
from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal


@pytest.fixture
def compressed(testdata: Path) -> Path:
    return testdata / "mysql-9.7" / "small" / "compressed.binlog"


def test_a_transaction_is_shown_with_names_and_values(shop: Shop) -> None:
    demo = shop.demo
    ended = binx("show", "--gtid", demo["gtid"], *shop.logs)
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0] == f"transaction {demo['gtid']}"
    text = ended.out
    assert f"{demo['file']} {demo['start']}-{demo['end']}, " in text
    assert "INSERT INTO shop.orders\n" in text
    assert "                customer_id  42\n" in text
    assert "            *   stock        376 -> 375\n" in text
    assert "session: foreign_key_checks=1, " in text


def test_the_one_around_a_position_is_shown(shop: Shop) -> None:
    demo = shop.demo
    around = binx("show", "--quiet", "--position", f"{demo['file']}:{demo['start'] + 9}", *shop.logs)
    assert around.out == binx("show", "--gtid", demo["gtid"], *shop.logs).out


def test_json_has_an_object_for_each_event(shop: Shop) -> None:
    demo = shop.demo
    events = [json.loads(line) for line in binx("show", "--json", "--gtid", demo["gtid"], *shop.logs).lines]
    listed = binx(
        "events", "--json", "--start-position", f"{demo['file']}:{demo['start']}",
        "--stop-position", f"{demo['file']}:{demo['end']}", *shop.logs,
    ).lines  # fmt: skip
    for event, line in zip(events, listed, strict=True):
        expected = json.loads(line)
        for name in ("position", "inner", "event_type", "bytes", "server_id", "event_timestamp", "flags"):
            assert event[name] == expected[name]
        assert event["transaction"] == demo["gtid"]
        assert event.get("rows") == (len(event["changes"]) if "changes" in event else None)
    changed = {f"{row['db']}.{row['table']}" for event in events for row in event.get("changes", ())}
    assert changed == set(demo["tables"])


def test_rows_are_cut_short_on_request(compressed: Path) -> None:
    ended = binx("show", "--quiet", "--position", "1400", "--rows", "1", compressed)
    assert ended.out.endswith("              47 more rows in this transaction\n")
    events = [
        json.loads(line)
        for line in binx("show", "-q", "--position", "1400", "--rows", "1", "--json", compressed).lines
    ]
    shown = [len(event["changes"]) for event in events if "rows" in event]
    counts = [event["rows"] for event in events if "rows" in event]
    assert shown == [1] + [0] * (len(shown) - 1)
    assert (sum(counts), max(counts)) == (48, 25)


@pytest.mark.parametrize("command", ["show", "why"])
def test_only_the_key_and_changed_columns_are_shown_on_request(shop: Shop, command: str) -> None:
    which = ["--gtid", shop.demo["gtid"], "--table", "shop.products"]
    which += ["--where", "id > 0"] if command == "why" else []
    whole = binx(command, "--quiet", *which, *shop.logs).lines
    brief = binx(command, "--quiet", *which, "--changed-only", *shop.logs).lines
    update = whole.index("            *   stock        376 -> 375")
    assert any(line.startswith("                title ") for line in whole[update - 6 : update])
    index = brief.index("            *   stock  376 -> 375")
    assert brief[index - 1].startswith("                id     ")
    assert not any(line.startswith("                title ") for line in brief[index - 6 : index])
    refused = binx(command, *which, "--changed-only", "--json", *shop.logs)
    assert (refused.code, "cannot be combined with --json" in refused.err) == (2, True)


def test_events_within_a_payload_are_marked(compressed: Path) -> None:
    lines = binx("show", "--quiet", "--position", "1400", compressed).lines
    assert (
        "        1445  TRANSACTION_PAYLOAD  compression=zstd compressed_bytes=741 uncompressed_bytes=11991"
        in lines
    )
    assert any(line.startswith("         +72    TABLE_MAP  small.t ") for line in lines)


def test_bytes_are_annotated(compressed: Path) -> None:
    ended = binx("show", "--limit", "1", "--hex", compressed)
    assert "00000004  21                                               type 33 (GTID)" in ended.out
    assert "checksum 0x08bb61e8, right" in ended.out
    (first, *_) = binx("show", "--limit", "1", "--hex", "--json", compressed).lines
    assert bytes.fromhex(json.loads(first)["hex"]) == compressed.read_bytes()[158:235]


def test_columns_without_names_are_noted_and_a_schema_names_them(testdata: Path, tmp_path: Path) -> None:
    log = testdata / "mysql-9.7" / "small" / "all_types_minimal_metadata.binlog"
    (gtid,) = (
        line.split("\t")[0]
        for line in binx("ls", "--columns", "gtid,tables", log).lines
        if line.split("\t")[1].startswith("small.numbers ")
    )
    alone = tmp_path / "alone.binlog"
    assert binx("extract", "--gtid", gtid, log, "-o", alone).code == 0

    def names(*options: str | Path) -> tuple[list[str], str]:
        ended = binx("show", "--json", *options, alone)
        rows = [row for line in ended.lines for row in json.loads(line).get("changes", ())]
        return list(rows[0]["after"]), ended.err

    whole = [json.loads(line) for line in binx("show", "--json", "--gtid", gtid, log).lines]
    named = next(list(event["changes"][0]["after"]) for event in whole if "changes" in event)
    unnamed, said = names()
    assert unnamed == [f"c{number}" for number in range(1, len(named) + 1)]
    assert "small.numbers" in said
    schema = tmp_path / "schema.sql"
    schema.write_text((log.with_suffix(".sql")).read_text("utf-8"), "utf-8")
    assert names("--schema", schema)[0] == named


def test_what_is_not_there_is_reported(shop: Shop) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    ended = binx("show", "--gtid", f"{source}:70000", *shop.logs)
    assert (ended.code, ended.out) == (4, "")
    assert "not in these files" in ended.err
    after = binx("show", "--position", str(shop.logs[0].stat().st_size), shop.logs[0])
    assert (after.code, after.out) == (4, "")
    assert "no transaction at or after" in after.err


def test_nothing_to_show_is_no_failure(shop: Shop, tmp_path: Path) -> None:
    nothing = binx("show", "--thread-id", "4000000000", *shop.logs)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "binx: no transaction that matches in these files\n"
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(shop.logs[0].read_bytes()[:158])
    empty = binx("show", log)
    assert (empty.code, empty.out) == (0, "")
    assert empty.err.endswith("binx: no transaction in these files\n")
    assert binx("show", "--quiet", log).err == ""


def test_two_places_to_begin_at_are_refused(shop: Shop) -> None:
    ended = binx("show", "--position", "4", "--start-position", "4", shop.logs[0])
    assert ended.code == 2


def test_colours_show_what_an_update_changed(shop: Shop) -> None:
    arguments = ("show", "--gtid", shop.demo["gtid"], *shop.logs)
    assert "\x1b[31m376\x1b[0m -> \x1b[32m375\x1b[0m" in on_terminal(*arguments, width=200).out
    plain = on_terminal(*arguments, width=200, env={"NO_COLOR": "1"}).out
    assert "*   stock        376 -> 375" in plain
    assert "\x1b" not in plain


def test_events_of_all_files_come_in_the_order_of_their_chain(shop: Shop) -> None:
    lines = [line.split("\t") for line in binx("events", *shop.logs[::-1]).lines]
    assert {len(line) for line in lines} == {len(PLAIN_EVENT_COLUMNS)}
    assert list(dict.fromkeys(line[0] for line in lines)) == [log.name for log in shop.logs]
    for log in shop.logs:
        own = [line for line in lines if line[0] == log.name]
        assert [4, *(int(line[4]) for line in own)] == [*(int(line[1]) for line in own), log.stat().st_size]


def test_json_has_an_object_a_line(shop: Shop) -> None:
    ended = binx("events", "--json", "--limit", "3", shop.logs[0])
    documents = [json.loads(line) for line in ended.lines]
    assert [one["event_type"] for one in documents] == ["FORMAT_DESCRIPTION", "PREVIOUS_GTIDS", "GTID"]
    assert all(list(one) == list(names_of("event")) for one in documents)


def test_the_events_of_a_transaction_are_found_by_position(shop: Shop) -> None:
    demo = shop.demo
    first, last = f"{demo['file']}:{demo['start']}", f"{demo['file']}:{demo['end']}"
    lines = binx("events", "--start-position", first, "--stop-position", last, *shop.logs).lines
    assert {line.split("\t")[10] for line in lines} == {demo["gtid"]}
    assert int(lines[0].split("\t")[1]) == demo["start"]
    assert int(lines[-1].split("\t")[4]) == demo["end"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--type", "quarry"], 2, "expected an event type"),
        (["--start-position", "nowhere.000001:4"], 4, "is not among the files"),
        (["--start-position", "4"], 2, "expected FILE:POS"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said(shop: Shop, arguments: list[str], code: int, said: str) -> None:
    ended = binx("events", *arguments, *shop.logs)
    assert ended.code == code
    assert said in ended.err


def test_wrong_checksums_are_listed_and_reported(shop: Shop, tmp_path: Path) -> None:
    data = bytearray(shop.logs[0].read_bytes())
    data[-1] ^= 1
    path = tmp_path / shop.logs[0].name
    path.write_bytes(data)
    ended = binx("events", path)
    assert ended.code == 3
    assert ended.err.startswith(f"binx: warning: {path}: events with wrong checksums: 1, the first at ")
    assert [line.split("\t")[8] for line in ended.lines].count("bad") == 1
    assert binx("events", "--no-checksums", path).code == 0
    assert "  bad  " in on_terminal("events", path, width=100).out


def test_a_cut_file_is_listed_up_to_the_cut(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / shop.logs[0].name
    path.write_bytes(shop.logs[0].read_bytes()[:-3])
    ended = binx("events", path)
    assert ended.code == 1
    assert ended.lines == binx("events", shop.logs[0]).lines[:-1]
    assert "ends inside an event" in ended.err


def test_a_terminal_has_a_head_for_each_file(shop: Shop) -> None:
    shown = on_terminal("events", "--quiet", *shop.logs, width=200, env={"NO_COLOR": "1"})
    heads = [number for number, line in enumerate(shown.lines) if line.lstrip().startswith("POSITION")]
    assert [shown.lines[number - 1] for number in heads] == [log.name for log in shop.logs]
    assert shop.demo["gtid"] in shown.out


def test_why_shows_values_beside_the_statement_that_the_server_logged(mariadb_shop: Shop) -> None:
    changes = binx(
        "why", "--table", "shop.orders", "--where", "status = 'paid'", "--kind", "dml", *mariadb_shop.logs
    )
    first = changes.out.split("\n\n")[0].splitlines()
    assert any(line.strip().startswith(("INSERT ", "UPDATE ")) for line in first)
    assert any(line.split()[-1] == '"paid"' for line in first)
