"""Conditions on rows: the transactions they choose are those that DuckDB chooses among the Parquet rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, UsageError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType, arrow_type
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.sql.literals import SqlValues
from binx.where.comparison import compared
from binx.where.condition import Condition, TableFrame
from binx.where.operands import COMPARISONS, IncomparableError, Literal, Operand
from binx.where.parsed_literals import literal_of
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.exports import export
from tests.slices.spelled import texts_of

SHOP = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop's logs as a data set."""
    folder = tmp_path_factory.mktemp("lake")
    export(folder, SHOP)
    return folder / "changes" / "shop"


def chosen(
    condition: str, tmp_path: Path, *tables: str, paths: Sequence[Path] = SHOP, limit: int | None = None
) -> list[str]:
    """Ids of the transactions that a condition chooses."""
    options = ExtractOptions(format=SliceFormat.JSON, where=Condition(condition))
    target = tmp_path / "chosen.json"
    with open_chain([str(path) for path in paths]) as chain:
        try:
            extract(chain, Selection(tables=tables, limit=limit), str(target), options)
        except AbsentError as error:
            assert "none of the requested transactions" in str(error)  # noqa: PT017
            return []
    return [json.loads(line)["transaction"] for line in target.read_text("utf-8").splitlines()]


def fetched(sql: str) -> list[tuple[Any, ...]]:
    relation = duckdb.sql(sql)
    assert relation is not None
    return relation.fetchall()


def by_duckdb(lake: Path, condition: str, table: str) -> list[str]:
    """The same by SQL over the Parquet rows, in the order of the log."""
    files = f"read_parquet('{lake}/{table}/*.parquet', union_by_name=true)"
    relation = duckdb.sql(
        f"SELECT _transaction FROM {files} WHERE ({condition}) GROUP BY 1 ORDER BY min(_commit_version)"
    )
    assert relation is not None
    return [transaction for (transaction,) in relation.fetchall()]


CONDITIONS = {
    "orders": [
        "status = 'paid'",
        "status <> 'paid' AND total > 100",
        "total BETWEEN 10.5 AND 99.99",
        "total > 12.3 AND total <= 50.00",
        "customer_id IN (1, 2, -3, 60) AND NOT status = 'new'",
        "id >= 9007199254740993",
        "id > 9007199254740992.5",
        "id < 1e3",
        "note IS NULL",
        "note IS NOT NULL AND note LIKE '%a%'",
        "note NOT LIKE 'x_%'",
        "placed_at >= '2026-03-02 09:30:00' AND placed_at < '2026-03-03'",
        "changed_at < '2026-03-02 12:00:00+00:00'",
        "status > 'new'",
        "NOT (status = 'new' OR status = 'paid')",
        "`customer_id` = 60",
    ],
    "customers": [
        "born < '1980-01-01' AND born > '0001-01-01'",
        "credit = -13.51",
        "newsletter = 1",
        "newsletter",
        "NOT newsletter",
        "city = 'São Paulo'",
        "kind IN ('school', 'private')",
    ],
    "products": [
        "volume > 0.2 AND stock <= 40",
        "volume = 0.20038738758696573",
        "since = 2155",
        "stock <> -1",
    ],
}


def complete(lake: Path, table: str, transactions: list[str]) -> list[str]:
    """Without the transactions some of whose images lack columns, which are absent here and NULL there."""
    partial = set(by_duckdb(lake, "_present IS NOT NULL", table))
    return [transaction for transaction in transactions if transaction not in partial]


@pytest.mark.parametrize(
    ("table", "condition"), [(table, one) for table, several in CONDITIONS.items() for one in several]
)
def test_duckdb_chooses_the_same_transactions(lake: Path, table: str, condition: str, tmp_path: Path) -> None:
    expected = complete(lake, table, by_duckdb(lake, condition.replace("`", '"'), table))
    assert complete(lake, table, chosen(condition, tmp_path, f"shop.{table}")) == expected
    assert expected or condition in {"id < 1e3", "note NOT LIKE 'x_%'"}


SIMPLE = st.sampled_from([one for one in CONDITIONS["orders"] if "`" not in one])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        SIMPLE,
        lambda inner: st.builds("({}) {} NOT ({})".format, inner, st.sampled_from(["AND", "OR"]), inner),
        max_leaves=5,
    )
)
def test_conditions_join_as_sql_has_it(lake: Path, tmp_path: Path, condition: str) -> None:
    expected = complete(lake, "orders", by_duckdb(lake, condition, "orders"))
    assert complete(lake, "orders", chosen(condition, tmp_path, "shop.orders")) == expected


def test_before_and_after_ask_one_image(lake: Path, tmp_path: Path) -> None:
    files = f"read_parquet('{lake}/orders/*.parquet', union_by_name=true)"
    pairs = duckdb.sql(
        f"WITH changes AS (FROM {files}) SELECT DISTINCT b._commit_version FROM changes b JOIN changes a"
        " USING (_commit_version, _row) WHERE b._change_type = 'update_preimage' AND b.status = 'new'"
        " AND a._change_type = 'update_postimage' AND a.status = 'paid'"
    )
    assert pairs is not None
    versions = pairs.fetchall()
    both = chosen("before.status = 'new' AND after.status = 'paid'", tmp_path, "shop.orders")
    assert len(both) == len(versions) > 0
    assert set(both) < set(chosen("status = 'new'", tmp_path, "shop.orders"))
    moved = chosen("before.status <> after.status", tmp_path, "shop.orders")
    assert set(both) < set(moved)


def test_a_column_that_an_image_lacks_kept_its_value_or_is_unknown(tmp_path: Path) -> None:
    """binlog_row_image = MINIMAL: an update's image before is the key, the one after what was changed."""
    log = [TESTDATA / "mysql-9.7" / "small" / "row_image_minimal.binlog"]
    rows = [json.loads(line) for line in json_rows(log, tmp_path)]
    update = next(row for row in rows if row["type"] == "update" and "id" not in row["after"])
    table, key = f"{update['db']}.{update['table']}", update["before"]["id"]
    assert update["transaction"] in chosen(f"after.id = {key}", tmp_path, table, paths=log)
    assert set(update["after"]) == {"a"}
    for condition in ("after.b IS NULL", "after.b IS NOT NULL"):
        assert update["transaction"] not in chosen(condition, tmp_path, table, paths=log)
    warning = f"{table}: rows to which the condition does not apply were skipped: their images lack b (bin"
    for key_condition in (f"id = {key}", "id IS NULL"):
        options = ExtractOptions(where=Condition(f"after.b = 'no such' OR {key_condition}"))
        with open_chain([str(path) for path in log]) as chain:
            selection, target = Selection(tables=(table,)), str(tmp_path / "slice")
            if key_condition == "id IS NULL":
                with pytest.raises(AbsentError, match=re.escape(warning)):
                    extract(chain, selection, target, options)
            else:
                assert extract(chain, selection, target, options).warnings[0].startswith(warning)


def json_rows(paths: Sequence[Path], tmp_path: Path) -> list[str]:
    target = tmp_path / "rows.json"
    with open_chain([str(path) for path in paths]) as chain:
        extract(chain, Selection(), str(target), ExtractOptions(format=SliceFormat.JSON, rows=True))
    return target.read_text("utf-8").splitlines()


def test_dates_that_are_none_are_found_by_their_text_and_are_not_null(tmp_path: Path) -> None:
    zero = chosen("born = '0000-00-00'", tmp_path, "shop.customers")
    assert zero
    assert not set(zero) & set(chosen("born IS NULL AND id = 8", tmp_path, "shop.customers"))
    assert chosen("born = '0000-00-00' AND born < '2020-01-01'", tmp_path, "shop.customers") == zero


def test_bytes_are_compared_with_hexadecimal(tmp_path: Path) -> None:
    matches = chosen("sku = x'00000700'", tmp_path, "shop.products")
    assert matches == chosen("id = 7", tmp_path, "shop.products")


def test_the_limit_counts_what_passes(tmp_path: Path) -> None:
    every = chosen("status = 'paid'", tmp_path, "shop.orders")
    assert chosen("status = 'paid'", tmp_path, "shop.orders", limit=5) == every[:5]


def test_a_slice_holds_whole_transactions(tmp_path: Path) -> None:
    every = chosen("status = 'paid'", tmp_path, "shop.orders")
    slice_path = tmp_path / "mysql-bin.000001"
    with open_chain([str(path) for path in SHOP]) as chain:
        options = ExtractOptions(where=Condition("status = 'paid'"))
        report = extract(chain, Selection(tables=("shop.orders",)), str(slice_path), options)
    assert report.transactions == len(every)
    with BinlogFile.open(str(slice_path)) as log:
        assert [table.gtid(i) for table in Scan(log) for i in range(len(table))] == every


@pytest.mark.parametrize(
    "text",
    [
        "lower(status) = 'paid'",
        "total + 1 > 5",
        "status = (SELECT 1)",
        "id = 1; DROP TABLE x",
        "shop.orders.id = 1",
        "orders.id = 1",
        "note ->> '$.a' = 1",
        "@x = 1",
        "1 = 1",
        "CASE WHEN id THEN 1 END",
        "id IN (SELECT 1)",
        "id IS",
        "",
        "(" * 5000,
        "status = 'paid",
        "EXISTS (SELECT 1)",
        "note REGEXP '('",
        "placed_on > DATE '2026-13-01'",
        "placed_at IN (TIMESTAMP '2026-03-02 24:61:00')",
        "takes = TIME 'long'",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Condition(text)


def test_a_statement_is_refused_without_words_of_the_parser() -> None:
    ended = binx("ls", "--where", "kill 3", TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001")
    assert ended.code == 2
    assert ended.err.startswith("binx: error: Invalid value for '--where': ")


def test_an_operand_that_is_missing_is_reported_in_words() -> None:
    with pytest.raises(UsageError, match=r"found 'status =': an operand is missing\. Line 1, Col: 8"):
        Condition("status =")


@pytest.mark.parametrize(
    "condition",
    ["total = 'much'", "placed_at > 'yesterday'", "changed_at = '25:00'", "id = 'NaN'", "note REGEXP '('"],
)
def test_a_literal_of_another_type_is_refused(condition: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        chosen(condition, tmp_path, "shop.orders")


def test_an_offset_is_refused_where_the_column_has_no_zone(tmp_path: Path) -> None:
    """A server takes it to the session's time zone, which no condition has."""
    for literal in ("'2026-03-02 09:30:00+02:00'", "TIMESTAMP '2026-03-02 09:30:00Z'"):
        with pytest.raises(UsageError, match="placed_at is a DATETIME, which has no time zone: expected a"):
            chosen(f"placed_at >= {literal}", tmp_path, "shop.orders")


def test_an_offset_is_refused_in_lists_where_servers_ignore_it(tmp_path: Path) -> None:
    for condition in ("IN ('2026-03-02 09:30:00+02:00')", "BETWEEN '2026-03-02' AND '2026-03-03 00:00:00Z'"):
        with pytest.raises(UsageError, match="expected a time without an offset for changed_at in IN"):
            chosen(f"changed_at {condition}", tmp_path, "shop.orders")


@pytest.mark.parametrize("condition", ["id IS NOT TRUE", "NOT (id IS TRUE)"])
def test_an_image_that_a_change_does_not_have_fulfils_nothing(condition: str, tmp_path: Path) -> None:
    """No row has the id 0, but an insert has no image before."""
    assert chosen(condition, tmp_path, "shop.orders") == []


TEXT, FLAG = LogicalType(Kind.TEXT, "text"), LogicalType(Kind.ENUM, "enum", members=("no", "10"))
SET = LogicalType(Kind.SET, "set", members=("a", "b", "c"))


@pytest.mark.parametrize(
    ("values", "type_of", "condition", "passing"),
    [
        (["9", "10", "10x", " 1e1 ", "x", ""], TEXT, "= 10", ["10", "10x", " 1e1 "]),
        (["9", "10", "-1", "x"], TEXT, "< 1", ["-1", "x"]),
        (["9", "10", "100"], TEXT, "> '10'", ["9", "100"]),
        (["no", "10", ""], FLAG, "= 2", ["10"]),
        (["no", "10", ""], FLAG, "= '10'", ["10"]),
        (["no", "10", ""], FLAG, "= 0", [""]),
        (["a", "a,c", "b", ""], SET, "= 5", ["a,c"]),
        (["9", "é"], TEXT, "= x'c3a9'", ["é"]),
        (["9", "é"], TEXT._replace(charset="latin1"), "= x'e9'", ["é"]),
        ([0.5, 0.1], LogicalType(Kind.FLOAT32, "float"), "= 0.1", []),
        ([0.5, 0.1], LogicalType(Kind.FLOAT32, "float"), "= 0.5", [0.5]),
    ],
)
def test_texts_beside_numbers_are_numbers_as_in_servers(
    values: list[Any], type_of: LogicalType, condition: str, passing: list[Any]
) -> None:
    """What SELECT of MySQL 9.7 and MariaDB 10.11 says, as tests/live/test_where.py asks."""
    kind = pa.float32() if type_of.kind is Kind.FLOAT32 else pa.string()
    node = sqlglot.parse_one(f"a {condition}", dialect="mysql")
    literal = literal_of(node.expression)
    assert literal is not None
    mask = compared(Operand(pa.array(values, kind), type_of, None), condition.partition(" ")[0], literal, "a")
    assert [value for value, passes in zip(values, mask.to_pylist(), strict=True) if passes] == passing


DAYS = LogicalType(Kind.DATE, "date"), [date(2026, 1, 2), None, None], [None, "0000-00-00", "2026-00-05"]
TIMES = (
    LogicalType(Kind.DATETIME, "datetime", fraction=3),
    [datetime(2026, 1, 2, 3, 4, 5, 500_000), None, None],
    [None, "0000-00-00 00:00:00.000", "2026-02-31 01:00:00.000"],
)
SPANS = LogicalType(Kind.TIME, "time", fraction=1), [timedelta(hours=-100, seconds=0.5), timedelta(0)], None
SUMS = LogicalType(Kind.DECIMAL, "decimal", precision=20, scale=10), [Decimal("1E-9"), Decimal(-2)], None


@pytest.mark.parametrize(
    ("column", "condition", "passing"),
    [
        (DAYS, "a < '2026-01-01'", [1, 2]),
        (DAYS, "a >= '2026-00-05'", [0, 2]),
        (DAYS, "a <> '0000-00-00'", [0, 2]),
        (DAYS, "a BETWEEN '0000-00-00 00:00:00' AND '2025-01-01'", [1]),
        (DAYS, "a LIKE '2026-0%'", [0, 2]),
        (DAYS, "a = a", [0, 1, 2]),
        (TIMES, "a = '0000-00-00'", [1]),
        (TIMES, "a > '2026-02-28'", [2]),
        (TIMES, "a = '2026-02-31T01:00:00'", [2]),
        (TIMES, "a LIKE '%.500'", [0]),
        (TIMES, "a REGEXP '^(0|2026-02).*0$'", [1, 2]),
        (SPANS, "a LIKE '-99:59:59.5'", [0]),
        (SPANS, "a LIKE '00:%'", [1]),
        (SUMS, "a LIKE '0.0000000010'", [0]),
    ],
)
def test_values_have_the_texts_that_servers_print(
    column: tuple[LogicalType, list[Any], list[str | None] | None], condition: str, passing: list[int]
) -> None:
    logical, values, misfits = column
    texts = None if misfits is None else pa.array(misfits, pa.string())
    operand = Operand(pa.array(values, arrow_type(logical, ArrowOptions())), logical, texts)
    mask = Condition(condition).matching(TableFrame({"a": operand}, len(values)))
    assert [place for place, passes in enumerate(mask.to_pylist()) if passes] == passing


BIG = LogicalType(Kind.INT64, "bigint"), [9007199254740992, 9007199254740993, 5]
SPACES = LogicalType(Kind.ENUM, "enum", members=("b", "", "a")), ["", "a"]
MOMENTS = LogicalType(Kind.DATETIME, "datetime", fraction=6), [datetime(2026, 1, 2)]
DOCUMENTS = LogicalType(Kind.JSON, "json"), ["1", "1.0", '"a"']
DIGITS = TEXT, ["9007199254740992", "9007199254740993"]


@pytest.mark.parametrize(
    ("column", "condition", "passing"),
    [
        (BIG, "a BETWEEN 10 AND '9007199254740993'", None),
        (BIG, "a NOT BETWEEN 1e1 AND '9007199254740993'", None),
        (BIG, "a BETWEEN 1 AND '10'", [2]),
        (BIG, "a BETWEEN '4x' AND 1e1", [2]),
        (BIG, "a = 9007199254740993e0", None),
        (BIG, "a = '9007199254740993.0'", None),
        (BIG, "a = '9007199254740993'", [1]),
        (BIG, "a IN (9007199254740993, '5')", [1, 2]),
        (BIG, "a > 1e1", [0, 1]),
        (DIGITS, "a = 9007199254740993", None),
        (DIGITS, "a = '9007199254740993'", [1]),
        (SPACES, "a = 3", None),
        (SPACES, "a IS TRUE", None),
        (SPACES, "a = 'a'", [1]),
        (MOMENTS, "a = '2026-W01-5'", None),
        (MOMENTS, "a = '2026-01-02 00:00:00,0'", None),
        (MOMENTS, "a = '2026-01-02 00:00:00.0000001'", None),
        (DOCUMENTS, "a = 1", None),
        (DOCUMENTS, "a IN ('a')", None),
        (DOCUMENTS, "a < a", None),
        (DOCUMENTS, "a LIKE '%a%'", [2]),
    ],
)
def test_what_servers_answer_in_another_way_is_refused(
    column: tuple[LogicalType, list[Any]], condition: str, passing: list[int] | None
) -> None:
    """MySQL 9.7 and MariaDB 10.11 answer by the type that they choose to compare in, or not alike."""
    logical, values = column
    operand = Operand(pa.array(values, arrow_type(logical, ArrowOptions())), logical, None)
    frame = TableFrame({"a": operand}, len(values))
    if passing is None:
        with pytest.raises(IncomparableError):
            Condition(condition).matching(frame)
    else:
        mask = Condition(condition).matching(frame).to_pylist()
        assert [place for place, passes in enumerate(mask) if passes] == passing


@pytest.mark.parametrize(
    ("zeros", "pattern", "passing"),
    [
        (4, "0042", [True, False]),
        (4, "42", [False, False]),
        (4, "12345", [False, True]),
        (0, "42", [True, False]),
    ],
)
def test_like_sees_the_zeros_of_zerofill(zeros: int, pattern: str, passing: list[bool]) -> None:
    operand = Operand(pa.array([42, 12345], pa.uint32()), LogicalType(Kind.UINT32, "int"), None, zeros)
    condition = Condition(f"a LIKE '{pattern}'")
    assert condition.matching(TableFrame({"a": operand}, 2)).to_pylist() == passing
    with pytest.raises(IncomparableError, match="a may be ZEROFILL, which its CREATE TABLE tells"):
        condition.matching(TableFrame({"a": operand._replace(zeros=None)}, 2))


@pytest.mark.parametrize(
    "literal",
    [Literal(b"\x07\xea"), Literal("26", number=True), Literal("2025.5", number=True), Literal("0")],
)
def test_a_year_is_compared_with_years_of_four_digits(literal: Literal) -> None:
    operand = Operand(pa.array([2026], pa.int16()), LogicalType(Kind.YEAR, "year"), None)
    with pytest.raises(UsageError, match="expected a year of four digits to compare y with"):
        compared(operand, "=", literal, "y")


MIXED = TESTDATA / "mysql-9.7" / "small" / "row_image_noblob.binlog"
"""Its tables have a column ``c`` each: a text in one, numbers in two."""
NUMBERS = ("expected a number to compare c with, found 'zz'", ["no_key", "unique_key"])


def warned(texts: Sequence[str]) -> list[str]:
    """The tables whose numbers a warning names; another one is of updates that did not log ``c``."""
    texts = sorted(texts)
    assert texts.pop(0).startswith(
        "small.keyed: rows to which the condition does not apply were skipped: their"
    )
    assert all(text.endswith(f"were skipped: {NUMBERS[0]}") for text in texts)
    return [text.partition(":")[0].rpartition(".")[2] for text in texts]


def test_tables_whose_column_cannot_be_compared_are_passed_over_and_reported(tmp_path: Path) -> None:
    target = tmp_path / "rows.json"
    options = ExtractOptions(format=SliceFormat.JSON, rows=True, where=Condition("c <> 'zz'"))
    with open_chain([str(MIXED)]) as chain:
        report = extract(chain, Selection(), str(target), options)
    rows = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert "keyed" in {row["table"] for row in rows}
    assert warned(report.warnings) == NUMBERS[1]


def test_parquet_reports_tables_whose_column_cannot_be_compared(tmp_path: Path) -> None:
    (report,) = export(tmp_path, [MIXED], where=Condition("c <> 'zz'"), jobs=1)
    manifest = report.manifest
    written = {entry["table"] for entry in manifest["files"] if entry["kind"] == "changes"}
    assert written == {"keyed"}
    skipped = [text for text in manifest["warnings"] if "were skipped" in text]
    assert warned(skipped) == NUMBERS[1]


def test_a_condition_that_can_be_asked_of_no_table_is_refused(tmp_path: Path) -> None:
    options = ExtractOptions(format=SliceFormat.JSON, where=Condition("c <> 'zz'"))
    with open_chain([str(MIXED)]) as chain, pytest.raises(UsageError, match=NUMBERS[0]):
        extract(chain, Selection(tables=("*.no_key", "*.unique_key")), str(tmp_path / "out"), options)
    assert not (tmp_path / "out").exists()


def test_a_column_that_no_table_has_is_reported(tmp_path: Path) -> None:
    options = ExtractOptions(format=SliceFormat.JSON, where=Condition("statuss = 'paid'"))
    with (
        open_chain([str(SHOP[0])]) as chain,
        pytest.raises(
            AbsentError,
            match=r"no table has statuss.*tables with row changes: shop\.orders; did you mean status\?$",
        ),
    ):
        extract(chain, Selection(tables=("shop.orders",)), str(tmp_path / "out"), options)


@pytest.mark.parametrize(
    ("literal", "passing"),
    [
        ("1", [1]),
        ("1.5", []),
        ("true", [1]),
        ("'1'", [1]),
        ("x'01'", [1]),
        ("b'1'", [1]),
        ("1e0", [1]),
        ("-1", [-1]),
    ],
)
@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float64()])
def test_numbers_are_compared_by_their_value(literal: str, passing: list[int], kind: pa.DataType) -> None:
    names = {pa.int8(): Kind.INT8, pa.int64(): Kind.INT64, pa.float64(): Kind.FLOAT64}
    values = [-1, 0, 1, 2]
    operand = Operand(pa.array(values, kind), LogicalType(names[kind], "number"), None)
    node = sqlglot.parse_one(f"a = {literal}", dialect="mysql").args["expression"]
    parsed = literal_of(node)
    assert parsed is not None
    mask = compared(operand, "=", parsed, "a").to_pylist()
    assert [value for value, passes in zip(values, mask, strict=True) if passes] == passing


WHOLE = st.one_of(
    st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**53, 2**53 + 3, 2**63, 2**64 - 2, 2**64 - 1])
)
OTHERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False),
    WHOLE.map(Decimal),
    st.sampled_from(["1e19", "18446744073709551616", "-1e400", "1e999999999", "-1e-999999", "1e-40"]).map(
        Decimal
    ),
)


@given(st.lists(WHOLE, min_size=1), OTHERS, st.sampled_from(sorted(COMPARISONS)))
def test_whole_numbers_are_compared_with_numbers_of_any_size(
    values: list[int], number: Decimal, sign: str
) -> None:
    operand = Operand(pa.array(values, pa.uint64()), LogicalType(Kind.UINT64, "bigint"), None)
    truth = {
        "=": Decimal.__eq__, "<>": Decimal.__ne__, "<": Decimal.__lt__,
        "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__,
    }[sign]  # fmt: skip
    expected = [truth(Decimal(value), number) for value in values]
    try:
        found = compared(operand, sign, Literal(str(number), number=True), "a").to_pylist()
    except IncomparableError:
        # With an exponent it is a DOUBLE, by which servers may answer otherwise.
        assert "E" in str(number)
    else:
        assert found == expected


@given(st.timedeltas(min_value=timedelta(hours=-838), max_value=timedelta(hours=838)))
def test_times_of_day_go_beyond_a_day_and_below_zero(span: timedelta) -> None:
    spans, logical = pa.array([span], pa.duration("us")), LogicalType(Kind.TIME, "time", fraction=6)
    (literal,) = texts_of(SqlValues().spelled(spans, logical), 1)
    text = literal.decode().strip("'")
    operand = Operand(spans, logical, None)
    assert compared(operand, "=", Literal(text), "t").to_pylist() == [True]


def written(folder: Path, where: str | None, *, limit: int | None = None) -> list[dict[str, Any]]:
    """Manifests of the shop's orders that fulfil a condition."""
    condition = None if where is None else Condition(where)
    orders = Selection(tables=("shop.orders",))
    reports = export(folder, SHOP, orders, where=condition, where_limit=limit, jobs=1)
    return [report.manifest for report in reports]


@pytest.mark.parametrize("condition", CONDITIONS["orders"][:6])
def test_parquet_has_the_changes_that_pass(condition: str, lake: Path, tmp_path: Path) -> None:
    manifests = written(tmp_path, condition)
    expected = f"read_parquet('{lake}/orders/*.parquet', union_by_name=true)"
    passing = (
        f"FROM {expected} WHERE (_commit_version, _row) IN"
        f" (SELECT (_commit_version, _row) FROM {expected} WHERE {condition})"
    )
    columns = "_change_type, _commit_version, _row, id, status, total"
    source = f"read_parquet('{tmp_path}/changes/shop/orders/*.parquet', union_by_name=true)"
    ours = fetched(f"SELECT {columns} FROM {source} ORDER BY ALL")
    theirs = fetched(f"SELECT {columns} {passing} ORDER BY ALL")
    partial = set(by_duckdb(lake, "_present IS NOT NULL", "orders"))
    versions = f"SELECT DISTINCT _commit_version FROM {expected} WHERE _present IS NOT NULL"
    assert partial
    left_out = {version for (version,) in fetched(versions)}
    assert [row for row in ours if row[1] not in left_out] == [
        row for row in theirs if row[1] not in left_out
    ]
    for manifest in manifests:
        for sums in manifest["conservation"]:
            assert sums["images"] == sums["written"] + sums["filtered"] + sums["undecodable"]
        rows = sum(entry["rows"] for entry in manifest["files"] if entry["kind"] == "changes")
        counted = sum(
            counts["inserts"] + 2 * counts["updates"] + counts["deletes"] for counts in manifest["tables"]
        )
        assert rows == counted


def test_parquet_of_a_limited_search_is_kept_when_asked_again(tmp_path: Path) -> None:
    first = written(tmp_path, "status = 'paid'", limit=7)
    transactions = [
        entry["rows"] for one in first for entry in one["files"] if entry["kind"] == "transactions"
    ]
    assert sum(transactions) == 7
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert written(tmp_path, "status = 'paid'", limit=7) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == files
    assert written(tmp_path, "status = 'paid'", limit=8) != first


def test_parquet_of_columns_that_no_table_has_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="no table has statuss"):
        written(tmp_path, "statuss = 'paid'")
