"""Folders of dumps by MySQL Shell are read in place, as the logs that they were made of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from binx.errors import ExitCode
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.log.chain.shell_dumps import dump
from tests.object_store import Bucket

LOGS = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*"))


def boundary(path: Path, transaction: int) -> int:
    """Where a transaction of a log begins."""
    return int(binx("ls", "--columns", "start", path).lines[transaction])


@pytest.fixture(scope="module")
def split_at() -> tuple[int, int]:
    return boundary(LOGS[1], 30), boundary(LOGS[1], 60)


@pytest.fixture
def root(tmp_path: Path, split_at: tuple[int, int]) -> Path:
    """Three dumps, which divide one log between them, and all logs together."""
    first, second = split_at
    folder = tmp_path / "dumps"
    dump(folder, "2026-11-21-10-00-00", LOGS[:2], end=first)
    dump(folder, "2026-11-21-10-00-00-1", LOGS[1:2], start=first, end=second, compression="none")
    dump(folder, "2026-11-22-10-00-00", LOGS[1:], start=second, compression="gzip")
    return folder


def test_all_commands_read_the_logs_whole(root: Path, tmp_path: Path) -> None:
    columns = "time,gtid,kind,bytes,rows,file,start,end,tables"
    assert binx("ls", "--columns", columns, root).out == binx("ls", "--columns", columns, *LOGS).out
    rows = ["extract", "--format", "json", "--rows"]
    assert binx(*rows, root).out == binx(*rows, *LOGS).out
    assert binx("verify", root).code == ExitCode.DONE
    for jobs in ("1", "4"):
        exported = binx("to-parquet", "--jobs", jobs, root, "-o", tmp_path / jobs)
        assert exported.code == binx("to-parquet", *LOGS, "-o", tmp_path / "of-logs", "--force").code
        assert len([*(tmp_path / jobs / "_manifest").iterdir()]) == len(LOGS)


def test_one_dump_is_read_as_what_it_has(root: Path) -> None:
    found = binx("ls", "--columns", "gtid", root / "2026-11-22-10-00-00").lines
    assert found == binx("ls", "--columns", "gtid", *LOGS[1:]).lines[60:]


@pytest.fixture
def bucket(service: tuple[Any, str], request: pytest.FixtureRequest) -> Bucket:
    return Bucket(service, request.node.nodeid)


def test_dumps_in_an_object_store_are_read_and_checked_in_place(
    root: Path, bucket: Bucket, split_at: tuple[int, int]
) -> None:
    for file in root.rglob("*"):
        if file.is_file():
            name = f"logs/{file.relative_to(root).as_posix()}"
            bucket.client.put_object(Bucket=bucket.name, Key=name, Body=file.read_bytes())
    columns = "time,gtid,kind,bytes,rows,file,start,end,tables"
    assert binx("ls", "--columns", columns, bucket.uri).out == binx("ls", "--columns", columns, *LOGS).out
    first = bucket.uri.replace("/logs", f"/logs/2026-11-21-10-00-00/{LOGS[1].name}.zst")
    assert (
        binx("ls", "--columns", "gtid,end", first).lines == binx("ls", "--columns", "gtid,end", LOGS[1]).lines
    )
    assert check(bucket.uri) == check(root)
    assert check(bucket.uri, LOGS[0].parent)[1]["tail"] == []
    place = bucket.uri.replace("/logs", "/logs/2026-11-22-10-00-00")
    assert (
        binx("ls", "--columns", "gtid", place).lines == binx("ls", "--columns", "gtid", *LOGS[1:]).lines[60:]
    )
    bucket.client.delete_object(Bucket=bucket.name, Key=f"logs/2026-11-21-10-00-00/{LOGS[0].name}.zst")
    code, report = check(bucket.uri)
    assert code == ExitCode.ABSENT
    assert "object_missing" in json.dumps(report)


def test_check_against_the_source_names_what_is_not_dumped_yet(root: Path, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for log in LOGS:
        (sources / log.name).write_bytes(log.read_bytes())
    code, report = check(root, sources)
    assert (code, report["problems"], report["tail"]) == (ExitCode.DONE, [], [])
    shutil.rmtree(root / "2026-11-22-10-00-00")
    code, report = check(root, sources)
    assert (code, report["problems"]) == (ExitCode.DONE, [])
    tail: Any = report["tail"]
    assert [Path(log["path"]).name for log in tail] == [log.name for log in LOGS[1:]]
    first = binx("ls", "--columns", "gtid", LOGS[1]).lines[60].rpartition(":")[2]
    assert f":{first}-" in str(tail[0]["gtid_set"])
    (sources / LOGS[0].name).unlink()
    assert check(root, sources)[0] == ExitCode.DONE


def check(root: Path | str, *source: Path) -> tuple[int, dict[str, object]]:
    ended = binx("archive", "--check", "--json", *source, "--to", root)
    return ended.code, json.loads(ended.out) if ended.out else {"error": ended.err}


def test_check_reads_the_logs_and_compares_them_with_what_their_dumps_say(root: Path) -> None:
    code, report = check(root)
    assert (code, report["problems"], report["logs"]) == (ExitCode.DONE, [], len(LOGS))
    whole = json.loads(binx("stats", "--quick", "--json", *LOGS).out)
    assert report["transactions"] == whole["transactions"]


def test_check_finds_what_is_missing_changed_or_incomplete(root: Path) -> None:
    part = root / "2026-11-22-10-00-00" / f"{LOGS[2].name}.gz"
    whole = part.read_bytes()
    part.unlink()
    code, report = check(root)
    assert code == ExitCode.ABSENT
    assert "object_missing" in json.dumps(report)
    part.write_bytes(whole[:-1])
    code, report = check(root)
    assert code == ExitCode.ABSENT
    assert "object_changed" in json.dumps(report)
    part.write_bytes(whole)
    about = part.with_suffix(".json")
    foreign = "00010203-0405-0607-0809-0a0b0c0d0e0f:7"
    about.write_text(about.read_text("utf-8").replace('"gtidSet": "', f'"gtidSet": "{foreign},'))
    code, report = check(root)
    assert code == ExitCode.LOSSES
    assert f"lacking {foreign}" in json.dumps(report)
    (root / "2026-11-22-10-00-00" / "@.binlog.done.json").unlink()
    for command in (["archive", "--check", "--to"], ["ls"]):
        ended = binx(*command, root)
        assert ended.code == ExitCode.FAILED
        assert "the dump is incomplete" in ended.err


def test_a_part_that_is_missing_between_dumps_is_reported(root: Path) -> None:
    middle = root / "2026-11-21-10-00-00-1"
    for file in middle.iterdir():
        file.unlink()
    middle.rmdir()
    for command in (["archive", "--check", "--to"], ["ls"]):
        ended = binx(*command, root)
        assert ended.code == ExitCode.ABSENT
        assert "a dump is missing or was made twice" in ended.err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"binlogs": ["a"], "basenames": {"a": "../a"}}', "null"])
def test_descriptions_that_are_none_are_errors_that_name_them(root: Path, text: str) -> None:
    about = root / "2026-11-22-10-00-00" / "@.binlog.json"
    about.write_text(text)
    ended = binx("ls", root)
    assert ended.code == ExitCode.FAILED
    assert about.name in ended.err
