"""What a pull leaves on the disk, what it checks, and what it is asked for."""

from __future__ import annotations

import errno
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from binx.errors import (
    AbsentError,
    BinxError,
    ConnectionLostError,
    DamagedError,
    RefusedError,
    ServerError,
    SourceError,
    UnsupportedError,
    UsageError,
)
from binx.event.format import MAGIC_SIZE, Flavour, parse_format
from binx.event.gtid.sets import GtidSet
from binx.pull.checks import LogChecks
from binx.pull.connection import server_error
from binx.pull.connection_parameters import Login, Tls, TlsMode, parse_url, read_defaults
from binx.pull.follow import Pull, PullRequest, explained
from binx.pull.mirror import DiskFullError, LogFile
from binx.pull.pull_state import LOCK, STATE, PulledChain, PullState, read_state, read_status
from binx.pull.server import LogPosition, ServerFacts
from binx.storage.locking import hold_lock
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.pull.wire import event, events_of

FACTS = ServerFacts(Flavour.MYSQL, "9.7.0", 97, "3e11fa47-71ca-11e1-9e33-c80aa9429562", True)
LOG = (TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001").read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    chains = [PulledChain.of(FACTS, number, "mysql-bin.000007") for number in range(2)]
    assert [chain.folder for chain in chains] == ["", "chain-2"]
    state = PullState(chains, {"file": "mysql-bin.000008"})
    assert read_state(tmp_path) is None
    state.write(tmp_path)
    assert read_state(tmp_path) == state


def test_a_server_is_known_by_its_identity() -> None:
    chain = PulledChain.of(FACTS, 0, "mysql-bin.000007")
    assert chain.is_of(FACTS._replace(version="9.8.0"))
    assert not chain.is_of(FACTS._replace(uuid="another"))
    assert not chain.is_of(FACTS._replace(server_id=98))
    refusal = chain.refuse(FACTS._replace(server_id=98), "db1:3306")
    assert "--new-chain" in str(refusal)
    assert "db1:3306" in str(refusal)


def test_the_status_after_a_start_that_failed(tmp_path: Path) -> None:
    nowhere = tmp_path / "no.sock"
    start = ("pull", "--user", "root", "--socket", nowhere, "--tls", "disable", "--to", tmp_path / "logs")
    assert binx(*start).code == 1
    first = json.loads(binx("pull", "--status", tmp_path / "logs", "--json").out)
    assert (first["running"], first["chains"]) == (False, [])
    assert "the connection failed" in first["error"]
    chain = PulledChain("", "mysql-bin.000001", "mysql", "", 1, "9.7.0", "2026-11-28T00:00:00Z")
    PullState([chain], {"file": "mysql-bin.000007", "position": 90, "gtid": "0-1-5"}).write(tmp_path / "logs")
    assert binx(*start).code == 1
    later = json.loads(binx("pull", "--status", tmp_path / "logs", "--json").out)
    assert (later["file"], later["position"], later["gtid"]) == ("mysql-bin.000007", 90, "0-1-5")
    assert "the connection failed" in later["error"]


def test_the_status_says_whether_a_pull_is_running(tmp_path: Path) -> None:
    with pytest.raises(AbsentError):
        read_status(tmp_path)
    PullState([PulledChain.of(FACTS, 0, "mysql-bin.000007")], {"position": 4}).write(tmp_path)
    assert not read_status(tmp_path)["running"]
    with hold_lock(tmp_path / LOCK, str(tmp_path)):
        assert read_status(tmp_path)["running"]
    status = read_status(tmp_path)
    assert (status["running"], status["position"], len(status["chains"])) == (False, 4, 1)


def test_a_state_that_cannot_be_understood_is_an_error(tmp_path: Path) -> None:
    for text, error in (("{", DamagedError), ('{"contract": 3}', UnsupportedError), ("[]", DamagedError)):
        (tmp_path / STATE).write_text(text)
        with pytest.raises(error):
            read_state(tmp_path)


def test_a_state_of_the_first_contract_is_read_with_the_names_of_now(tmp_path: Path) -> None:
    chain = {
        "folder": "", "first": "mysql-bin.000007", "flavour": "mysql", "server_uuid": "u", "server_id": 1,
        "server_version": "9.7.0", "begun": "2026-11-28T00:00:00Z", "missing": "u:1-3",
    }  # fmt: skip
    status = {
        "log": "mysql-bin.000008", "position": 90, "committed": 1_795_254_532_000_000,
        "acknowledged": {"log": "mysql-bin.000008", "position": 90},
    }  # fmt: skip
    (tmp_path / STATE).write_text(json.dumps({"contract": 1, "chains": [chain], "status": status}))
    found = json.loads(binx("pull", "--status", tmp_path, "--json").out)
    assert (found["file"], found["commit_timestamp"]) == ("mysql-bin.000008", "2026-11-21T09:48:52Z")
    assert found["acknowledged"] == {"file": "mysql-bin.000008", "position": 90}
    assert (found["chains"][0]["first_file"], found["chains"][0]["missing_gtids"]) == (
        "mysql-bin.000007",
        "u:1-3",
    )


def test_places_are_ordered_as_logs_are() -> None:
    positions = [LogPosition.of("b.000002", 5), LogPosition.of("b.000010", 4), LogPosition.of("b.1000000", 4)]
    assert sorted(positions) == positions


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
    notes: list[str] = []
    pull = Pull(request, notes.append)
    lost, damage = ConnectionLostError("gone", server="db1"), DamagedError("bad", path="a.000001", offset=4)
    assert not pull._may_retry(lost, 1)
    pull.has_connected = True
    assert all(pull._may_retry(lost, failures) for failures in range(100))
    assert [pull._may_retry(damage, 1) for _ in range(3)] == [True, True, False]
    ends = Pull(replace(request, follow=False), notes.append)
    ends.has_connected = True
    assert not ends._may_retry(lost, 50)
    assert not ends._may_retry(DiskFullError("full"), 1)


def test_a_full_disk_is_reported_and_what_was_there_stays(
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


EVERY_BIT = bool(os.environ.get("BINX_EVERY_BIT"))
LOGS = (
    "mysql-9.7/shop/mysql-bin.000002",
    "mariadb-10.11/shop/mysql-bin.000002",
)


def read(name: str) -> tuple[bytes, LogChecks]:
    log = (TESTDATA / name).read_bytes()
    first = next(events_of(log))
    begin = MAGIC_SIZE + len(first)
    return log, LogChecks(name, parse_format(log, MAGIC_SIZE), begin)


def fed(log: bytes, checks: LogChecks, size: int = 1 << 30) -> int:
    """Where the checks have come to with a log that arrives in pieces."""
    end = checks.position
    while end < len(log):
        end = min(end + size, len(log))
        checks.take(memoryview(log)[checks.position : end])
    return checks.position


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("size", [100, 5000, 1 << 30])
def test_a_log_passes_in_any_pieces(name: str, size: int) -> None:
    log, checks = read(name)
    assert fed(log, checks, size) == len(log) == checks.whole_end
    assert checks.is_closed
    assert checks.last is not None
    assert checks.gtids().count > 0
    assert checks.listed is not None


@pytest.mark.parametrize("name", LOGS)
def test_no_changed_bit_passes(name: str) -> None:
    log, checks = read(name)
    begin = checks.position
    bits = range(8 * begin, 8 * len(log))
    for bit in bits if EVERY_BIT else random.Random(name).sample(bits, 300):
        damaged = bytearray(log)
        damaged[bit // 8] ^= 1 << bit % 8
        again = LogChecks(name, checks.description, begin)
        try:
            end = fed(bytes(damaged), again, 4096)
        except BinxError:
            end = again.position
        assert end <= bit // 8


def test_a_transaction_is_whole_only_at_its_end() -> None:
    log, checks = read(LOGS[0])
    ends = set()
    for event_bytes in list(events_of(log))[1:]:
        checks.take(memoryview(event_bytes))
        ends.add(checks.whole_end)
        assert checks.whole_end == checks.position or event_bytes[4] not in (16, 4)
    assert len(ends) < checks.position / 100


def test_an_event_in_another_place_is_damage() -> None:
    log, checks = read(LOGS[0])
    events = list(events_of(log))
    with pytest.raises(DamagedError, match="tells its own position"):
        checks.take(memoryview(b"".join([events[1], *events[40:]])))


def test_a_large_event_is_checked_in_pieces() -> None:
    log, checks = read(LOGS[0])
    events = list(events_of(log))
    checks.take(memoryview(events[1]))
    begin = checks.position
    body = random.Random(1).randbytes(1_300_000)
    large = event(29, body, begin + 19 + len(body) + 4, flags=0x80)
    for damage in (None, 20, 1_299_000):
        changed = bytearray(large)
        if damage is not None:
            changed[damage] ^= 4
        checks_of_large = LogChecks("log", checks.description, begin)
        chunks = [memoryview(changed)[at : at + 100_000] for at in range(0, len(changed), 100_000)]
        for chunk in chunks[:-1]:
            assert checks_of_large.take(chunk) == len(chunk)
        if damage is None:
            checks_of_large.take(chunks[-1])
            assert checks_of_large.position == begin + len(large)
        else:
            with pytest.raises(DamagedError, match="stored checksum"):
                checks_of_large.take(chunks[-1])
            assert checks_of_large.position == begin


def test_a_log_must_list_what_was_pulled_before() -> None:
    log, checks = read(LOGS[0])
    fed(log, checks)
    assert checks.listed is not None
    checks.follow(checks.listed, GtidSet())
    with pytest.raises(RefusedError, match="--new-chain"):
        checks.follow(checks.listed, GtidSet.parse("00000000-0000-0000-0000-000000000001:7"))


def test_a_gtid_that_comes_twice_is_damage() -> None:
    log, checks = read(LOGS[0])
    fed(log, checks)
    checks._intervals = [*checks._intervals, *checks._intervals[:1]]
    with pytest.raises(DamagedError, match="once"):
        checks.gtids()


def test_a_url_gives_what_it_has() -> None:
    assert parse_url("mysql://binx@db1:3307") == {"host": "db1", "port": 3307, "user": "binx"}
    assert parse_url("mariadb://[::1]") == {"host": "::1"}
    assert parse_url("mysql://a%40b:p%3Aw@db1/") == {"host": "db1", "user": "a@b", "password": "p:w"}


@pytest.mark.parametrize(
    "url", ["db1", "http://db1", "mysql://db1/shop", "mysql://db1:x", "mysql://db1?ssl=1"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="mysql://"):
        parse_url(url)


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(UsageError) as caught:
        parse_url("mysql://me:secret@db1/shop")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(Login(password="secret"))


def test_files_of_certificates_say_how_much_is_verified() -> None:
    assert Tls.of(None, None, None, None).mode is TlsMode.PREFERRED
    assert Tls.of(None, "ca.pem", None, None).mode is TlsMode.VERIFY_CA
    assert Tls.of(None, None, "cert.pem", "key.pem").mode is TlsMode.REQUIRED
    assert Tls.of("verify-identity", "ca.pem", None, None).mode is TlsMode.VERIFY_IDENTITY


@pytest.mark.parametrize(
    ("mode", "ca", "certificate", "key"),
    [
        ("verify-ca", None, None, None),
        ("verify-identity", None, None, None),
        ("preferred", "ca.pem", None, None),
        (None, None, None, "key.pem"),
    ],
)
def test_what_contradicts_itself_is_refused(
    mode: str | None, ca: str | None, certificate: str | None, key: str | None
) -> None:
    with pytest.raises(UsageError):
        Tls.of(mode, ca, certificate, key)


def test_semi_sync_takes_no_interval_and_parquet_an_archive() -> None:
    for request in (
        PullRequest(Login(), Path("to"), semi_sync=True, interval=True),
        PullRequest(Login(), Path("to"), parquet="lake"),
    ):
        with pytest.raises(UsageError):
            request.check()
    PullRequest(Login(), Path("to"), semi_sync=True, archive="a", parquet="lake").check()


def test_option_files_are_read_as_clients_read_them(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.cnf").write_text("[client]\nuser=other\n[mysqld]\nport=1\n")
    main = tmp_path / "my.cnf"
    main.write_text(
        "# of the client\n[client]\nuser = 'binx' # the account\npassword=\"a # b\"\nport=3307\n"
        "skip-something\nssl_ca = /etc/ca\\sof\\sours.pem\n; none\n[mysqldump]\nuser=dump\n"
        "!includedir more\n[binx]\nloose-host=db1\n"
    )
    assert read_defaults(str(main)) == {
        "user": "other",
        "password": "a # b",
        "port": "3307",
        "ssl-ca": "/etc/ca of ours.pem",
        "host": "db1",
    }


def test_an_option_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        read_defaults(str(tmp_path / "none"))
