"""Two sets of logs: what each lacks, what differs, and what is the same in other bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.compare.contents import DIGEST_BYTES, Digests, GtidKeys, digested
from binx.compare.differences import LogDiff, diff_logs
from binx.compare.transaction_effects import (
    StatementEffect,
    TransactionEffect,
    Verdict,
    compared,
    statement_form,
)
from binx.errors import RefusedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.slices import changes
from binx.slices.extraction import extract
from binx.slices.search import Search
from tests.cli.process import binx
from tests.conftest import TESTDATA

MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SERVERS = [MYSQL, MARIADB]


def shop(folder: Path) -> list[str]:
    return [str(path) for path in sorted((folder / "shop").glob("mysql-bin.0*"))]


def diff(left: Sequence[str | Path], right: Sequence[str | Path], *, contents: bool = True) -> LogDiff:
    with open_chain(list(map(str, left))) as ours, open_chain(list(map(str, right))) as theirs:
        return diff_logs(ours, theirs, Selection(), contents=contents)


def without(paths: Sequence[str], gtids: str, target: Path) -> Path:
    """A log that lacks some transactions; its bytes are otherwise than those of the logs it is made of."""
    with open_chain(paths) as chain:
        extract(chain, Selection(exclude_gtids=GtidSet.parse(gtids)), str(target))
    return target


def youngest(found: LogDiff) -> str:
    source, _, last = list(found.left.gtid_set)[-1]
    return str(GtidSet([(source, last, last)]))


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_the_same_transactions_in_other_bytes_are_the_same(folder: Path, tmp_path: Path) -> None:
    again = without(shop(folder), "00000000-0000-0000-0000-000000000001:1", tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [again])
    assert found.equal
    assert found.common_transactions == found.left.gtid_set.count == found.right.transactions
    assert found.left.gtid_set == found.right.gtid_set


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("contents", [True, False])
def test_what_one_side_lacks(folder: Path, contents: bool, tmp_path: Path) -> None:
    last = youngest(diff(shop(folder), shop(folder), contents=False))
    middle = last.replace(last.replace("-", ":").rpartition(":")[2], "700")
    lacking = without(shop(folder), f"{middle},{last}", tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [lacking], contents=contents)
    assert found.only_left.gtid_set == GtidSet.parse(f"{middle},{last}")
    assert found.only_right.gtid_set.is_empty
    assert found.only_left.errant_gtids == GtidSet.parse(middle), "the youngest may still come"
    assert not found.equal
    turned = diff([lacking], shop(folder), contents=contents)
    assert (turned.only_right.gtid_set, turned.only_right.errant_gtids) == (
        found.only_left.gtid_set,
        found.only_left.errant_gtids,
    )


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_what_stands_before_the_first_log_is_not_lacking(folder: Path) -> None:
    found = diff(shop(folder), shop(folder)[1:])
    assert found.only_left.gtid_set.is_empty
    assert found.equal
    assert 0 < found.common_transactions < found.left.gtid_set.count


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_what_was_purged_between_two_chains_is_in_no_log(folder: Path) -> None:
    logs = shop(folder)
    found = diff(logs[:2], logs[3:], contents=False)
    between = diff(logs[2:3], logs[2:3], contents=False)
    assert found.in_no_log == between.left.gtid_set
    assert between.in_no_log.is_empty
    assert diff(logs[:2], logs[2:], contents=False).in_no_log.is_empty
    told = binx("diff", "--gtids", "--json", logs[0], logs[2])
    assert json.loads(told.out)["in_no_log"]["transactions"] > 0


def test_transactions_of_an_unknown_server_are_errant(tmp_path: Path) -> None:
    other = MYSQL / "small" / "xa.binlog"
    found = diff(shop(MYSQL), [other])
    assert found.common_transactions == 0
    assert found.only_right.errant_gtids == found.only_right.gtid_set == found.right.gtid_set


def test_the_first_transactions_of_a_tag_may_still_come(tmp_path: Path) -> None:
    log = MYSQL / "small" / "tagged_gtids.binlog"
    before = tmp_path / "before"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(limit=1), str(before))
    found = diff([log], [before])
    own = found.right.gtid_set
    (server,) = {str(source) for source, _, _ in own}
    lacking = {str(source) for source, _, _ in found.only_left.gtid_set if str(source).startswith(server)}
    assert lacking == {server, f"{server}:nightly_batch", f"{server}:_x123456789012345678901234567890"}
    assert all(not str(source).startswith(server) for source, _, _ in found.only_left.errant_gtids)


def altered(path: Path, old: bytes, new: bytes, target: Path) -> Path:
    """A log in which the bytes of a value are others, with the checksum that belongs to them."""
    data = bytearray(path.read_bytes())
    assert data.count(old) == 1
    assert len(old) == len(new)
    at = data.index(old)
    data[at : at + len(old)] = new
    position = 4
    while position < len(data):
        size = int.from_bytes(data[position + 9 : position + 13], "little")
        if position < at < position + size:
            crc = zlib.crc32(data[position : position + size - 4])
            data[position + size - 4 : position + size] = crc.to_bytes(4, "little")
        position += size
    target.write_bytes(data)
    return target


def test_another_value_in_a_row_is_found(tmp_path: Path) -> None:
    path = MYSQL / "small" / "xa.binlog"
    other = altered(path, b"in between", b"IN BETWEEN", tmp_path / "xa.binlog")
    found = diff([path], [other])
    assert not found.equal
    assert found.common_transactions == found.left.transactions
    (difference,) = found.differences
    assert found.different == GtidSet.parse(difference.gtid)
    (pair,) = difference.changes
    assert pair.left is not None
    assert pair.right is not None
    assert [one.shown["after"]["text"] for one in (pair.left, pair.right)] == ["in between", "IN BETWEEN"]
    assert pair.left.key == ("id",)
    assert diff([path], [other], contents=False).equal


def test_other_bytes_are_found_that_look_alike_as_text(tmp_path: Path) -> None:
    path = MYSQL / "small" / "xa.binlog"
    values = (rb"\xff" + b"\xff....."), (b"\xff" + rb"\xff.....")
    assert len({value.decode("utf-8", "backslashreplace") for value in values}) == 1
    left, right = (
        altered(path, b"in between", value, tmp_path / f"{number}.binlog")
        for number, value in enumerate(values)
    )
    found = diff([left], [right])
    (difference,) = found.differences
    assert found.different == GtidSet.parse(difference.gtid)


def test_another_statement_is_found(tmp_path: Path) -> None:
    path = MYSQL / "small" / "savepoints.binlog"
    other = altered(path, b"(11, 'BEGIN')", b"(12, 'BEGIN')", tmp_path / "savepoints.binlog")
    (difference,) = diff([path], [other]).differences
    changes = [change for pair in difference.changes for change in (pair.left, pair.right)]
    assert [None if one is None else one.shown["type"] for one in changes] == ["statement", "statement"]


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_what_a_log_begins_after_is_perhaps_purged_and_not_errant(folder: Path, tmp_path: Path) -> None:
    (source, first, _), *_ = diff(shop(folder), shop(folder), contents=False).left.gtid_set
    before = GtidSet([(source, first, first + 99)])
    later = without(shop(folder), str(before), tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [later], contents=False)
    assert (found.only_left.gtid_set, found.only_left.perhaps_purged_gtids) == (before, before)
    assert found.only_left.errant_gtids.is_empty
    with open_chain(shop(folder)) as ours, open_chain([str(later)]) as theirs:
        told = diff_logs(ours, theirs, Selection(), purged=(GtidSet(), before))
    assert told.only_left.gtid_set.is_empty
    assert told.equal


def test_logs_without_gtids_are_refused() -> None:
    path = MYSQL / "small" / "anonymous_gtids.binlog"
    with pytest.raises(RefusedError, match="no transactions with GTIDs"):
        diff([path], [path])


def test_only_so_many_are_looked_into() -> None:
    with open_chain([str(MYSQL / "small" / "xa.binlog")]) as chain:
        found = diff_logs(chain, chain, Selection(), most=1)
    assert found.differences == ()


def test_rows_are_compared_whose_times_have_fractions_that_a_definition_alone_says(tmp_path: Path) -> None:
    log = str(MARIADB / "small" / "times_with_fractions.binlog")
    found = diff([log], [without([log], "0-10-99", tmp_path / "mysql-bin.000001")])
    assert found.equal
    assert found.is_fully_compared


def effect(
    *rows: tuple[str, dict[str, Any] | None, dict[str, Any] | None], table: str = "t"
) -> TransactionEffect:
    """What a transaction of some changes did."""
    made = TransactionEffect()
    for kind, before, after in rows:
        made.take_row({"type": kind, "db": "d", "table": table, "before": before, "after": after})
    return made


def insert(**columns: Any) -> tuple[str, None, dict[str, Any]]:
    return "insert", None, columns


def delete(**columns: Any) -> tuple[str, dict[str, Any], None]:
    return "delete", columns, None


def update(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "update", before, after


ONE, TWO = {"c1": 1, "c2": "a"}, {"c1": 1, "c2": "b"}
OTHER = {"c1": 2, "c2": "a"}

Change = tuple[str, dict[str, Any] | None, dict[str, Any] | None]
PAIRS: dict[str, tuple[list[Change], list[Change], Verdict]] = {
    "rows in another order": (
        [delete(**ONE), delete(**OTHER)],
        [delete(**OTHER), delete(**ONE)],
        Verdict.SAME,
    ),
    "an update as delete and insert": ([update(ONE, TWO)], [delete(**ONE), insert(**TWO)], Verdict.SAME),
    "a row twice": ([delete(**ONE), delete(**ONE)], [delete(**ONE)], Verdict.DIFFERENT),
    "another value": ([insert(**ONE)], [insert(**TWO)], Verdict.DIFFERENT),
    "an update the other way": ([update(ONE, TWO)], [update(TWO, ONE)], Verdict.DIFFERENT),
    "a minimal image": (
        [update(ONE, TWO)],
        [update({"c1": 1}, {"c2": "b"})],
        Verdict.OTHER_COLUMNS,
    ),
    "a minimal image with another value": (
        [update(ONE, TWO)],
        [update({"c1": 1}, {"c2": "c"})],
        Verdict.DIFFERENT,
    ),
    "a minimal image that lacks a change": (
        [update({"c1": 1, "c2": "a", "c3": 1}, {"c1": 1, "c2": "b", "c3": 2})],
        [update({"c1": 1}, {"c2": "b"})],
        Verdict.DIFFERENT,
    ),
    "minimal images of one row in another order": (
        [update({"c1": 1}, {"c2": 5}), update({"c1": 1}, {"c2": 6})],
        [update({"c1": 1}, {"c2": 6}), update({"c1": 1}, {"c2": 5})],
        Verdict.DIFFERENT,
    ),
    "minimal images whose values changed places": (
        [update({"c1": 1}, {"c2": 5}), update({"c1": 2}, {"c2": 6})],
        [update({"c1": 1}, {"c2": 6}), update({"c1": 2}, {"c2": 5})],
        Verdict.DIFFERENT,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rows(name: str) -> None:
    one, other, verdict = PAIRS[name]
    assert compared(effect(*one), effect(*other)).verdict is verdict
    assert compared(effect(*other), effect(*one)).verdict is verdict


def test_rows_of_another_table_are_others() -> None:
    assert compared(effect(insert(**ONE)), effect(insert(**ONE), table="u")).verdict is Verdict.DIFFERENT


def test_statements_and_rows_cannot_be_compared() -> None:
    text = TransactionEffect()
    text.texts.append(("d", "INSERT INTO t VALUES (1)"))
    assert compared(text, effect(insert(**ONE))).verdict is Verdict.NOT_COMPARED
    assert compared(text, TransactionEffect()).verdict is Verdict.NOT_COMPARED
    other = TransactionEffect()
    other.texts.append(("d", "INSERT INTO t VALUES (2)"))
    assert compared(text, other).verdict is Verdict.DIFFERENT


def test_more_rows_than_are_kept_are_compared_by_their_sums() -> None:
    rows = [insert(c1=number) for number in range(3000)]
    assert compared(effect(*rows), effect(*reversed(rows))).verdict is Verdict.SAME
    assert compared(effect(*rows), effect(*rows[1:])).verdict is Verdict.DIFFERENT
    fewer = [insert(c1=number, c2=1) for number in range(3000)]
    assert compared(effect(*rows), effect(*fewer)).needs_rows


LOGS = [
    *(TESTDATA / server / "shop" / "mysql-bin.000001" for server in ("mysql-9.7", "mariadb-10.11")),
    TESTDATA / "mysql-9.7" / "small" / "all_types.binlog",
    TESTDATA / "mariadb-10.11" / "small" / "savepoints_rows.binlog",
]


def digests(log: Path) -> list[tuple[str | None, bytes]]:
    with open_chain([str(log)]) as chain:
        return list(digested(Search(chain, Selection()).selected(), Catalog(), set()))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parts[-3]}-{log.stem}")
def test_pieces_of_one_row_give_the_same_digests(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = digests(log)
    monkeypatch.setattr(changes, "PIECE_ROWS", 1)
    assert digests(log) == found


def test_every_transaction_has_one_and_those_with_other_rows_another() -> None:
    found = digests(LOGS[0])
    with open_chain([str(LOGS[0])]) as chain:
        (table,) = Scan(chain[0].file)
        assert [gtid for gtid, _ in found] == [table.gtid(index) for index in range(len(table))]
    assert len({digest for _, digest in found}) == len(found)


GTIDS = [
    "bf1c133d-e590-11f1-8de0-02fc00000001:1",
    "bf1c133d-e590-11f1-8de0-02fc00000001:tag:1",
    "bf1c133d-e590-11f1-8de0-02fc00000001:9223372036854775806",
    "bf1c133d-e590-11f1-8de0-02fc00000002:1",
    "0-1-100",
    "1-1-100",
    "0-4294967295-18446744073709551615",
]


@pytest.mark.parametrize("gtid", GTIDS)
def test_a_gtid_comes_back_as_it_was(gtid: str) -> None:
    keys = GtidKeys()
    found = [keys.key(one) for one in GTIDS]
    assert len(set(found)) == len(GTIDS)
    assert keys.gtid(keys.key(gtid)[1]) == gtid


def test_what_differs_from_the_others_first_is_reported_both_ways() -> None:
    keys = GtidKeys()
    left, right = Digests(keys), Digests(keys)
    digests = [bytes([number]) * DIGEST_BYTES for number in range(4)]
    for gtid in GTIDS:
        left.add(gtid, digests[0])
    for gtid in (*GTIDS[:2], GTIDS[4], "3-1-1"):
        right.add(gtid, digests[gtid == GTIDS[1]])
    right.add(GTIDS[4], digests[2])
    assert set(left.different(right)) == {GTIDS[1], GTIDS[4]}
    assert set(right.different(left)) == {GTIDS[1], GTIDS[4]}


def test_a_transaction_takes_little_memory() -> None:
    """Its key of 12 bytes and its digest of 16; what serves to compare is that of a part of them."""
    count = 100_000
    before = pa.total_allocated_bytes()
    keys = GtidKeys()
    sides = [Digests(keys), Digests(keys)]
    for number in range(1, count + 1):
        for side in sides:
            side.add(f"bf1c133d-e590-11f1-8de0-02fc00000001:{number}", b"\7" * DIGEST_BYTES)
    assert pa.total_allocated_bytes() - before < count * len(sides) * 32
    assert list(sides[0].different(sides[1])) == []
    assert pa.total_allocated_bytes() - before < count * len(sides) * 32


def form(sql: str, db: str = "shop", kind: str = "ddl") -> StatementEffect | None:
    """The form of a statement."""
    values: dict[str, Any] = dict.fromkeys(Statement._fields)
    followed = Catalog().follow(sql, db) if kind == "ddl" else None
    return statement_form(Statement(**values | {"sql": sql, "db": db, "kind": kind, "followed": followed}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("DROP TABLE t", "shop"), ("DROP TABLE IF EXISTS `shop`.`t` /* generated by server */", "")),
        (("DROP TABLE a, b", "shop"), ("drop tables b, shop.a", "shop")),
        (("CREATE TABLE t (a INT)", "shop"), ("CREATE  TABLE `shop`.`t` (\n  a INT\n)", "other")),
        (("ALTER TABLE t ADD b INT", "shop"), ("ALTER TABLE shop.t ADD b INT", "")),
        (("RENAME TABLE a TO b", "shop"), ("RENAME TABLE shop.a TO shop.b", "other")),
    ],
)
def test_the_same(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert form(*one) == form(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("DROP TABLE t", "shop"), ("DROP TABLE t", "other")),
        (("CREATE TABLE t (a INT)", "shop"), ("CREATE TABLE t (a BIGINT)", "shop")),
        (("CREATE TABLE t (a INT DEFAULT 'x')", "shop"), ("CREATE TABLE t (a INT DEFAULT x)", "shop")),
        (("CREATE TABLE t (a INT)", "shop"), ("CREATE TABLE T (a INT)", "shop")),
        (("CREATE VIEW v AS SELECT 1", "shop"), ("CREATE VIEW v AS SELECT 1", "other")),
    ],
)
def test_others(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert form(*one) != form(*other)


def test_steps_of_a_transaction() -> None:
    assert form("XA END 'x'", "", "other") == form("XA END 'x'", "shop", "other")
    assert form("XA END 'x'", "", "other") != form("XA END 'y'", "", "other")
    assert form("SAVEPOINT `a`", "shop", "other") is None
    assert form("ROLLBACK TO `a`", "shop", "other") is None


@pytest.mark.parametrize("sql", ["CREATE TEMPORARY TABLE t (a INT)", "DROP TEMPORARY TABLE IF EXISTS t"])
def test_temporary_tables_leave_nothing(sql: str) -> None:
    assert form(sql) is None
