"""A folder says whose logs it has, and how far the pull is; what went wrong says what to do."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from binx.errors import (
    AbsentError,
    ConnectionLostError,
    DamagedError,
    RefusedError,
    ServerError,
    UnsupportedError,
)
from binx.event.format import Flavour
from binx.pull.client import server_error
from binx.pull.follow import Pull, explained
from binx.pull.mirror import DiskFullError, LogFile
from binx.pull.options import Login, PullRequest
from binx.pull.server import LogPlace, ServerFacts
from binx.pull.state import LOCK, STATE, Chain, PullState, read_state, read_status
from binx.storage.store import hold_lock
from tests.conftest import TESTDATA
from tests.pull.wire import events_of

FACTS = ServerFacts(Flavour.MYSQL, "9.7.0", 97, "3e11fa47-71ca-11e1-9e33-c80aa9429562", True)
LOG = (TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001").read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    chains = [Chain.of(FACTS, number, "mysql-bin.000007") for number in range(2)]
    assert [chain.folder for chain in chains] == ["", "chain-2"]
    state = PullState(chains, {"log": "mysql-bin.000008"})
    assert read_state(tmp_path) is None
    state.write(tmp_path)
    assert read_state(tmp_path) == state


def test_a_server_is_known_by_its_identity() -> None:
    chain = Chain.of(FACTS, 0, "mysql-bin.000007")
    assert chain.is_of(FACTS._replace(version="9.8.0"))
    assert not chain.is_of(FACTS._replace(uuid="another"))
    assert not chain.is_of(FACTS._replace(server_id=98))
    refusal = chain.refuse(FACTS._replace(server_id=98), "db1:3306")
    assert "--new-chain" in str(refusal)
    assert "db1:3306" in str(refusal)


def test_the_status_tells_whether_a_pull_is_running(tmp_path: Path) -> None:
    with pytest.raises(AbsentError):
        read_status(tmp_path)
    PullState([Chain.of(FACTS, 0, "mysql-bin.000007")], {"position": 4}).write(tmp_path)
    assert not read_status(tmp_path)["running"]
    with hold_lock(tmp_path / LOCK, str(tmp_path)):
        assert read_status(tmp_path)["running"]
    found = read_status(tmp_path)
    assert (found["running"], found["position"], len(found["chains"])) == (False, 4, 1)


def test_a_state_that_cannot_be_understood_is_an_error(tmp_path: Path) -> None:
    for text, error in (("{", DamagedError), ('{"contract": 2}', UnsupportedError), ("[]", DamagedError)):
        (tmp_path / STATE).write_text(text)
        with pytest.raises(error):
            read_state(tmp_path)


def test_places_are_ordered_as_logs_are() -> None:
    places = [LogPlace.of("b.000002", 5), LogPlace.of("b.000010", 4), LogPlace.of("b.1000000", 4)]
    assert sorted(places) == places


@pytest.mark.parametrize(
    ("number", "text", "kind"),
    [
        (1236, "Could not find first log file name in binary log index file", AbsentError),
        (
            1236,
            "... the source has purged binary logs containing GTIDs that the replica requires",
            AbsentError,
        ),
        (1236, "Client requested source to start replication from position > file size", RefusedError),
        (1045, "Access denied for user", ServerError),
        (1053, "Server shutdown in progress", ConnectionLostError),
        (2013, "Lost connection to MySQL server during query", ConnectionLostError),
    ],
)
def test_a_servers_words_become_what_they_mean(number: int, text: str, kind: type[Exception]) -> None:
    error = explained(server_error(number, text, "db1:3306"), "mysql-bin.000001")
    assert type(error) is kind
    assert text in str(error)


@pytest.mark.parametrize(("resumed", "kind"), [(True, RefusedError), (False, ServerError)])
def test_no_event_where_the_last_transaction_was_is_another_log(resumed: bool, kind: type[Exception]) -> None:
    """A log that was reset has the middle of an event there."""
    text = "bogus data in log event; the first event 'mysql-bin.000001' at 7009, the last event read from it"
    error = explained(server_error(1236, text, "db1:3306"), "mysql-bin.000001", resumed=resumed)
    assert type(error) is kind
    assert ("--new-chain" in str(error)) is resumed


def test_lost_connections_are_made_again_and_damage_is_believed_in_the_end(tmp_path: Path) -> None:
    request = PullRequest(Login(), tmp_path, follow=True)
    told: list[str] = []
    pull = Pull(request, told.append)
    lost, damage = ConnectionLostError("gone", server="db1"), DamagedError("bad", path="a.000001", offset=4)
    assert not pull._goes_on(lost, 1)
    pull._connected = True
    assert all(pull._goes_on(lost, failures) for failures in range(100))
    assert [pull._goes_on(damage, 1) for _ in range(3)] == [True, True, False]
    ends = Pull(replace(request, follow=False), told.append)
    ends._connected = True
    assert not ends._goes_on(lost, 50)
    assert not ends._goes_on(DiskFullError("full"), 1)


def test_a_full_disk_is_told_and_what_was_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = events_of(LOG)
    path = tmp_path / "mysql-bin.000001"
    file = LogFile.begin(path, first)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DiskFullError, match="no space"):
        file.put(4 + len(first), memoryview(second))
    file.close()
    assert path.stat().st_size == 4 + len(first)
