"""What transactions did to rows: alike however it is logged, and other wherever a row is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.compare.contents import DIGEST_BYTES, Digests, GtidKeys, digested
from binx.compare.effects import Effect, Form, Verdict, compared, statement_form
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.rows.columns.schema import DEFAULT_CONTEXT
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import Statement
from binx.slices import changes
from binx.slices.search import Search
from tests.conftest import TESTDATA


def effect(*rows: tuple[str, dict[str, Any] | None, dict[str, Any] | None], table: str = "t") -> Effect:
    """What a transaction of some changes did."""
    made = Effect()
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
    text = Effect()
    text.texts.append(("d", "INSERT INTO t VALUES (1)"))
    assert compared(text, effect(insert(**ONE))).verdict is Verdict.NOT_COMPARED
    assert compared(text, Effect()).verdict is Verdict.NOT_COMPARED
    other = Effect()
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
        (table,) = chain[0].file.scan()
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


def test_what_differs_from_the_others_first_is_told_both_ways() -> None:
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


def form(sql: str, db: str = "shop", kind: str = "ddl") -> Form | None:
    """The form of a statement."""
    values: dict[str, Any] = dict.fromkeys(Statement._fields)
    context = DEFAULT_CONTEXT if kind == "ddl" else None
    return statement_form(Statement(**values | {"sql": sql, "db": db, "kind": kind, "context": context}))


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
