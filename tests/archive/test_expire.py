"""``--expire``: the oldest logs go from an archive, and what is kept proves where it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.archive.manifest import read_manifests
from binx.archive.prune import expire
from binx.archive.run_report import State
from binx.cli.main import run
from binx.errors import ExitCode
from binx.storage.store import open_store
from tests.archive.places import SHOP, archive, check, copy_logs

NAMES = [f"mysql-bin.{number:06}" for number in range(1, 6)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An archive of the shop's logs, all of which are old."""
    archive(SHOP, tmp_path / "archive")
    return tmp_path / "archive"


def held(place: Path) -> list[str]:
    return [log.name for log in read_manifests(open_store(str(place)))[0]]


def test_all_but_the_newest_go_and_the_rest_is_whole(place: Path) -> None:
    reports = list(expire(open_store(str(place)), 0))
    assert {report.state for report in reports} == {State.EXPIRED}
    assert [report.archived.name for report in reports if report.archived] == NAMES[:-1]
    assert held(place) == NAMES[-1:]
    assert len(list(place.glob("mysql-bin.*"))) == 2
    report = check(place)
    assert report.ok
    assert list(expire(open_store(str(place)), 0)) == []


def test_logs_that_are_not_old_stay(place: Path) -> None:
    assert list(expire(open_store(str(place)), 100_000)) == []
    assert held(place) == NAMES


def test_a_dry_run_only_tells(place: Path) -> None:
    reports = list(expire(open_store(str(place)), 0, dry_run=True))
    assert {report.state for report in reports} == {State.WOULD_EXPIRE}
    assert held(place) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_is_not_whole(place: Path) -> None:
    (log,) = place.glob(f"{NAMES[-1]}.*.zst")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    (report,) = expire(open_store(str(place)), 0)
    assert report.state is State.FAILED
    assert held(place) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_does_not_list_what_goes(tmp_path: Path) -> None:
    """The manifest of another server's log stands in for one that does not know of those before."""
    place = tmp_path / "archive"
    archive(copy_logs(tmp_path / "logs", 1, 2), place)
    (manifest,) = (place / "_manifest").glob(f"{NAMES[1]}.*")
    text = manifest.read_text("utf-8")
    manifest.write_text(text.replace('"previous_gtids": "bf1c133d', '"previous_gtids": "00000000'), "utf-8")
    (report,) = expire(open_store(str(place)), 0)
    assert report.state is State.FAILED
    assert held(place) == NAMES[:2]


def test_the_command_lists_and_expires_and_says_that_it_may_be_the_only_copy(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["archive", "--to", str(place), "--list"]) is ExitCode.DONE
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [fields[0].rsplit(".", 1)[0] for fields in lines] == NAMES
    assert sum(int(fields[6]) for fields in lines) == 1629
    assert run(["archive", "--to", str(place), "--expire", "0"]) is ExitCode.DONE
    told = capsys.readouterr()
    assert told.out.count("expired") == 4
    assert "may have been their only copy" in told.err
    assert run(["archive", "--to", str(place), "--list", "--check"]) is ExitCode.USAGE
