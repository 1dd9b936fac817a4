"""``binx archive`` as cron and monitors see it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.archive.places import IN_USE, check_manifests, contents, copy_logs
from tests.cli.process import binx


def test_a_line_is_told_for_each_log_and_one_where_nothing_is_to_do(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert (ended.code, ended.err, len(ended.lines)) == (0, "", 2)
    assert ended.lines[0].startswith(f"{source}/mysql-bin.000001: archived, 374 transactions, 258 KiB in ")
    check_manifests(tmp_path / "archive")
    again = binx("archive", source, "--to", tmp_path / "archive")
    assert (again.code, again.err) == (0, "")
    assert again.out == "nothing to do: 2 archived, 0 being written\n"
    assert binx("archive", "--quiet", source, "--to", tmp_path / "archive").out == ""


def test_programs_get_objects(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    ended = binx("archive", "--json", source, "--to", tmp_path / "archive")
    log, run = map(json.loads, ended.lines)
    assert (log["state"], log["transactions"], log["problems"]) == ("archived", 374, [])
    assert (run["run"], run["held"], run["archived"]) == ("ok", 1, 1)
    (run,) = map(json.loads, binx("archive", "--json", source, "--to", tmp_path / "archive").lines)
    assert (run["run"], run["held"], run["archived"]) == ("ok", 1, 0)


def test_a_damaged_log_gives_exit_code_3_and_its_problems(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    data = bytearray((source / "mysql-bin.000001").read_bytes())
    data[100_000] ^= 1
    (source / "mysql-bin.000001").write_bytes(data)
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert ended.code == 3
    assert "mysql-bin.000001: it is damaged and not archived" in ended.err
    assert [line.partition(":")[0] for line in ended.lines] == [f"{source}/mysql-bin.000002"]


def test_what_fails_gives_exit_code_1(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    (source / "mysql-bin.000001").chmod(0o644)
    shutil.copy(source / "mysql-bin.000001", tmp_path / "file")
    ended = binx("archive", source, "--to", tmp_path / "file")
    assert (ended.code, ended.out) == (1, "")
    assert "a part of its path is a file" in ended.err or "cannot be written" in ended.err


def test_a_log_being_written_is_counted(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs")
    shutil.copy(IN_USE, source)
    ended = binx("archive", "--dry-run", source, "--to", tmp_path / "archive")
    assert (ended.code, ended.out) == (0, "nothing to do: 0 archived, 1 being written\n")
    assert contents(tmp_path) == contents(tmp_path)
