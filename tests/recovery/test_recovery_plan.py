"""Where replay begins and ends, and what is missing, on logs of both servers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binx
from binx.api.transaction_records import TransactionRecord
from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition
from binx.log.chain.inputs import open_chain
from binx.recovery.commands import replay_ways
from binx.recovery.recovery_plan import Edge, RecoveryPlan, Target, TargetKind, plan_recovery
from tests.conftest import TESTDATA
from tests.log import building as b

SHOPS = ["mysql-9.7", "mariadb-10.11"]


def logs_of(shop: str) -> list[Path]:
    return sorted((TESTDATA / shop / "shop").glob("mysql-bin.0*"))


def records(paths: Sequence[Path]) -> list[TransactionRecord]:
    with binx.open(*paths) as opened:
        return list(opened.transactions())


RECORDS = {shop: records(logs_of(shop)) for shop in SHOPS}


def microseconds(record: TransactionRecord) -> int:
    return round(record.commit_timestamp.timestamp() * 1_000_000)


def plan(paths: Sequence[Path], backup: BackupPosition, target: Target | None = None) -> RecoveryPlan:
    with open_chain([str(path) for path in paths]) as chain:
        return plan_recovery(chain, backup, target)


def gtids_of(transactions: Sequence[TransactionRecord]) -> GtidSet:
    return GtidSet().union(*(GtidSet.parse(record.transaction) for record in transactions))


def backups_of(transactions: Sequence[TransactionRecord], held: int) -> list[BackupPosition]:
    """A backup that holds the first so many transactions: known by its position, by its GTIDs, by both."""
    file, offset = Path(transactions[held - 1].path).name, transactions[held - 1].end
    gtids = gtids_of(transactions[:held])
    return [BackupPosition(file, offset), BackupPosition("", 0, gtids), BackupPosition(file, offset, gtids)]


def begins_with(record: TransactionRecord) -> Edge:
    return Edge(Path(record.path).name, record.start, record.gtid, microseconds(record))


def ends_with(record: TransactionRecord) -> Edge:
    return begins_with(record)._replace(position=record.end)


@pytest.mark.parametrize("shop", SHOPS)
@settings(max_examples=40)
@given(data=st.data())
def test_replay_begins_after_the_backup_and_ends_at_the_target(shop: str, data: st.DataObject) -> None:
    transactions = RECORDS[shop]
    held = data.draw(st.integers(1, len(transactions) - 2), "transactions in the backup")
    stop = data.draw(st.integers(held + 1, len(transactions) - 1), "transactions at the target")
    time = microseconds(transactions[stop])
    reached = next(k for k, record in enumerate(transactions) if k >= held and microseconds(record) >= time)
    targets = [
        (Target(TargetKind.GTIDS, gtids=gtids_of([transactions[stop - 1]])), stop),
        (Target(TargetKind.BEFORE, gtids=gtids_of([transactions[stop]])), stop),
        (Target(), len(transactions)),
    ]
    if all(microseconds(record) < time for record in transactions[:held]):
        targets.append((Target(TargetKind.TIME, time=time), reached))
    for backup in backups_of(transactions, held):
        for target, expected in targets:
            result = plan(logs_of(shop), backup, target)
            assert result.covered
            assert result.transactions == expected - held
            assert not result.held_gtids
            if expected > held:
                assert result.first == begins_with(transactions[held])
                assert result.last == ends_with(transactions[expected - 1])
            else:
                assert (result.first, result.last, result.replayable) == (None, None, False)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["position", "GTIDs", "both"])
def test_each_log_that_is_removed_is_named(shop: str, kind: int) -> None:
    paths, transactions = logs_of(shop), RECORDS[shop]
    first, last = transactions[30], transactions[-3]
    backup = backups_of(transactions, 30)[kind]
    target = Target(TargetKind.GTIDS, gtids=gtids_of([last]))
    needed = sorted({record.path for record in transactions[30:-2]})
    assert (len(needed) > 3, first.path) == (True, needed[0])
    for removed in needed:
        result = plan([path for path in paths if str(path) != removed], backup, target)
        assert not result.covered
        assert Path(removed).name in result.missing_files
        # What lacks at the end alone does not keep the rest from being replayed.
        assert result.replayable == (removed == needed[-1])


@pytest.mark.parametrize("shop", SHOPS)
def test_logs_before_the_backup_and_after_the_target_are_not_needed(shop: str) -> None:
    transactions = RECORDS[shop]
    paths = logs_of(shop)
    indexes = [k for k, record in enumerate(transactions) if record.path == str(paths[2])]
    for backup in backups_of(transactions, indexes[3]):
        target = Target(TargetKind.GTIDS, gtids=gtids_of([transactions[indexes[-3]]]))
        result = plan(paths[2:3], backup, target)
        assert (result.covered, [log.path for log in result.files]) == (True, [str(paths[2])])
        assert (result.files[0].start, result.files[0].end) == (
            transactions[indexes[3]].start,
            transactions[indexes[-3]].end,
        )


def test_missing_gtids_are_named() -> None:
    paths, transactions = logs_of("mysql-9.7"), RECORDS["mysql-9.7"]
    _, by_gtid, _ = backups_of(transactions, 30)
    lost = gtids_of([record for record in transactions if record.path == str(paths[2])])
    result = plan([path for path in paths if path != paths[2]], by_gtid)
    assert result.missing_gtids == lost
    before = gtids_of([record for record in transactions[30:] if record.path in map(str, paths[:2])])
    assert plan(paths[2:], by_gtid).missing_gtids == before


def test_gtids_that_begin_again_do_not_say_what_the_backup_holds(tmp_path: Path) -> None:
    first, *_, last = logs_of("mysql-9.7")
    again = tmp_path / first.name
    shutil.copy(first, again)
    index = tmp_path / "mysql-bin.index"
    index.write_text(f"{last}\n{again}\n")
    *_, by_gtid, by_both = backups_of(RECORDS["mysql-9.7"], len(RECORDS["mysql-9.7"]) - 5)
    for backup in (by_gtid, by_both):
        result = plan([index], backup)
        assert "are not among those that the file lists as logged before it" in result.reasons[0]
        assert not result.replayable


def test_what_the_backup_holds_between_others_is_passed_over() -> None:
    transactions = RECORDS["mysql-9.7"]
    later = [transactions[40], *transactions[500:503]]
    result = plan(logs_of("mysql-9.7"), BackupPosition("", 0, gtids_of([*transactions[:30], *later])))
    assert result.first == begins_with(transactions[30])
    assert result.held_gtids == gtids_of(later)
    assert result.transactions == len(transactions) - 34


@pytest.mark.parametrize("shop", SHOPS)
def test_a_backup_after_the_target_is_refused(shop: str) -> None:
    transactions = RECORDS[shop]
    early = gtids_of([transactions[10]])
    for backup in backups_of(transactions, 30):
        for kind in (TargetKind.GTIDS, TargetKind.BEFORE):
            result = plan(logs_of(shop), backup, Target(kind, gtids=early))
            assert "take an older backup" in result.reasons[0]
            assert not result.replayable
    for backup in backups_of(transactions, 30):
        target = Target(TargetKind.TIME, time=microseconds(transactions[0]))
        assert "take an older backup" in plan(logs_of(shop), backup, target).reasons[0]
        target = Target(TargetKind.BEFORE, gtids=early)
        assert "take an older backup" in plan(logs_of(shop), backup, target).reasons[0]


def test_a_set_of_which_the_backup_holds_some_is_no_target_to_stop_before() -> None:
    transactions = RECORDS["mysql-9.7"]
    target = Target(TargetKind.BEFORE, gtids=gtids_of([transactions[10], transactions[900]]))
    for held in (30, 800):
        for backup in backups_of(transactions, held)[1:]:
            result = plan(logs_of("mysql-9.7"), backup, target)
            assert "take an older backup" in result.reasons[0]


@pytest.mark.parametrize("shop", SHOPS)
def test_a_backup_that_stands_at_the_target_needs_no_replay(shop: str) -> None:
    transactions = RECORDS[shop]
    target = Target(TargetKind.GTIDS, gtids=gtids_of([transactions[29]]))
    result = plan(logs_of(shop), backups_of(transactions, 30)[0], target)
    assert (result.covered, result.first) == (True, None)


@pytest.mark.parametrize("shop", SHOPS)
def test_a_time_after_the_logs_is_not_covered(shop: str) -> None:
    transactions = RECORDS[shop]
    backup = backups_of(transactions, 30)[0]
    target = Target(TargetKind.TIME, time=max(map(microseconds, transactions)) + 3_600_000_000)
    result = plan(logs_of(shop), backup, target)
    assert (result.covered, result.replayable) == (False, True)
    assert result.last == ends_with(transactions[-1])


def test_a_position_that_the_log_does_not_have_is_refused() -> None:
    paths, transactions = logs_of("mysql-9.7"), RECORDS["mysql-9.7"]
    name = paths[0].name
    result = plan(paths, BackupPosition(name, paths[0].stat().st_size + 1))
    assert "the log was copied before the backup was made" in result.reasons[0]
    with pytest.raises(UsageError, match="is inside the transaction at"):
        plan(paths, BackupPosition(name, transactions[5].start + 20))
    result = plan(paths, BackupPosition("mysql-bin.000000", 4))
    assert "is not among the logs" in result.reasons[0]


def test_gtids_are_followed_where_the_position_is_of_another_server() -> None:
    transactions = RECORDS["mysql-9.7"]
    gtids = gtids_of(transactions[:30])
    found = plan(logs_of("mysql-9.7"), BackupPosition("mysql-bin.000001", 157, gtids))
    assert (found.covered, found.first) == (True, begins_with(transactions[30]))
    assert any("disagree" in note for note in found.notes)


@pytest.mark.parametrize(
    ("held", "number", "refused"), [(2, 1, True), (2, 9, False), (4, 1, True), (4, 4, True)]
)
def test_a_domain_whose_numbers_go_back_refuses_what_gtids_alone_say(
    held: int, number: int, refused: bool, tmp_path: Path
) -> None:
    """Without checksums, the number of the last transaction is changed to what a session may set."""
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes((TESTDATA / "mariadb-10.11/small/no_checksum.binlog").read_bytes())
    transactions = records([log])
    data = bytearray(log.read_bytes())
    data[transactions[-1].start + 19] = number
    log.write_bytes(data)
    by_position, by_gtid, _ = backups_of(transactions, held)
    assert plan([log], by_position).transactions == len(transactions) - held
    result = plan([log], by_gtid)
    assert (not result.replayable) == refused
    assert ["after higher numbers of its domain" in problem for problem in result.reasons] == [True] * refused


def test_logs_of_several_servers_are_distinguished_by_the_backup(tmp_path: Path) -> None:
    for shop in SHOPS:
        (tmp_path / shop).mkdir()
        for path in logs_of(shop):
            shutil.copy(path, tmp_path / shop)
    both = [tmp_path / shop for shop in SHOPS]
    for shop in SHOPS:
        *_, backup = backups_of(RECORDS[shop], 30)
        found = plan(both, backup)
        assert (found.first, found.covered) == (begins_with(RECORDS[shop][30]), True)
        assert ["left out" in note for note in found.notes] == [True]
    with pytest.raises(UsageError, match="give the logs of one"):
        plan(both, BackupPosition("mysql-bin.000001", 157))


def test_the_end_of_a_base_name_is_not_that_of_its_servers_logs(tmp_path: Path) -> None:
    """A server names its logs otherwise from a start on; logs of the new name list none of the old."""
    copied = [
        Path(shutil.copy(path, tmp_path / path.name.replace("mysql", name)))
        for name, path in zip(("mysql", "mysql", "mysql", "new"), logs_of(SHOPS[0]), strict=False)
    ]
    *_, backup = backups_of(RECORDS[SHOPS[0]], 30)
    found = plan(copied, backup)
    assert (found.covered, found.replayable) == (False, True)
    assert "new-bin.000004 was begun after" in found.reasons[0]
    assert plan(copied, backup, Target(TargetKind.GTIDS, gtids=gtids_of(RECORDS[SHOPS[0]][99:100]))).covered


@pytest.mark.parametrize(
    ("version", "statements", "option"),
    [
        ((8, 0, 22), ["CHANGE MASTER TO MASTER_HOST", "START SLAVE", "SHOW SLAVE STATUS"], "slave"),
        ((8, 0, 23), ["CHANGE REPLICATION SOURCE TO SOURCE_HOST", "START REPLICA"], "replica"),
    ],
)
def test_old_servers_are_given_the_words_that_they_know(
    version: tuple[int, int, int], statements: list[str], option: str
) -> None:
    found = replace(plan(logs_of(SHOPS[0]), BackupPosition("mysql-bin.000001", 157)), version=version)
    script = "\n".join(replay_ways(found)[-1].lines)
    assert all(statement in script for statement in statements)
    assert f"--skip-{option}-start" in script


@pytest.mark.parametrize(
    ("later", "said"),
    [((b.gtid(5), b.query("DROP TABLE b")), "ON_PERMISSIVE or OFF_PERMISSIVE"), ((), "ERROR 1782")],
    ids=["some", "none"],
)
def test_transactions_without_gtids_need_a_mode_of_the_server(
    tmp_path: Path, later: tuple[bytes, ...], said: str
) -> None:
    anonymous = b.event(34, b.gtid(0)[19:])
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(b.whole_log(anonymous, b.query("DROP TABLE a"), *later))
    (note,) = plan([log], BackupPosition("mysql-bin.000001", 4)).notes
    assert "gtid_mode" in note
    assert said in note


def test_a_log_whose_name_begins_with_a_dash_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-bin.000001").write_bytes(b.whole_log(b.gtid(1), b.query("DROP TABLE a")))
    found = plan([Path("-bin.000001")], BackupPosition("-bin.000001", 4))
    lines = [line for way in replay_ways(found) for line in way.lines if "-bin.000001 " in f"{line} "]
    assert lines
    assert all(" ./-bin.000001" in line for line in lines)
