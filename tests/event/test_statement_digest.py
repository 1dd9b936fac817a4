"""The normal form of statements: MySQL's own for those that change rows, as tests/live asks a server."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.event.statement_digest import digest_of, digest_text


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("insert into t values (1,'a'), (2, null)", "INSERT INTO `t` VALUES (...) /* , ... */"),
        ("INSERT INTO t VALUES (1),(2)", "INSERT INTO `t` VALUES (?) /* , ... */"),
        (
            "update t set a = a - 1, b = -5 where id=7",
            "UPDATE `t` SET `a` = `a` - ? , `b` = ? WHERE `id` = ?",
        ),
        ("delete from t where a in (1, 2) or b in (3)", "DELETE FROM `t` WHERE `a` IN (...) OR `b` IN (...)"),
        ("update t set a = null where b is not null", "UPDATE `t` SET `a` = ? WHERE `b` IS NOT NULL"),
        ("set @a = 1, @@session.x = _utf8mb4'y'", "SET @? = ? , @@SESSION . `x` = (_charset) ?"),
        ("/* by */ update t set count = count(x) # end", "UPDATE `t` SET `count` = COUNT ( `x` )"),
        ("insert into t values ('it''s', \"\\\"\", x'00')", "INSERT INTO `t` VALUES (...)"),
        ("insert into `a``b`.`t` select $1a", "INSERT INTO `a`b` . `t` SELECT `$1a`"),
        ("select -1, - -x'01', -'a', true - 1", "SELECT ?, ... , - ? , TRUE - ?"),
        ("select 1 from t where -1 and -2 > date - 3", "SELECT ? FROM `t` WHERE - ? AND ? > DATE - ?"),
        ("select 'unclosed", "SELECT ?"),
        ("", ""),
    ],
)
def test_normal_form(sql: str, expected: str) -> None:
    assert digest_text(sql) == expected


def test_what_differs_in_values_alone_has_one_digest() -> None:
    assert digest_text("update t set a=1 where b in (1,2)") == digest_text(
        "UPDATE t SET a='x' WHERE b IN (9)"
    )
    assert digest_text("update t set a=1") != digest_text("update t set b=1")
    assert digest_of("SELECT ?") == hashlib.sha256(b"SELECT ?").hexdigest()


@given(st.text(alphabet="ab1'\"`\\/*-# \n,()@.?xXnN_=<>;ü", max_size=60))
def test_any_text_has_a_normal_form(sql: str) -> None:
    digest_text(sql)
