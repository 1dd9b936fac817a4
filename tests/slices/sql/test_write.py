"""SQL out of binary logs: literals, statements, sessions, order, refusals."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, RefusedError
from binx.event.charset import charset as charset_of_name
from binx.event.format import parse_format
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.tokens import identifier
from binx.rows.statements import Statement
from binx.slices import changes as changes_module
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.search import Selected
from binx.slices.sql.literals import SqlValues, comment_text, text_literal
from binx.slices.sql.session import SqlSession
from binx.slices.sql.write import check_sql, write_sql
from tests.conftest import SERVERS, SHOPS, TESTDATA
from tests.event import samples
from tests.slices.spelled import texts_of
from tests.slices.sql.sql_of import everything, json_of, sql_of

CHANGE = re.compile(rb"^(INSERT INTO|UPDATE|DELETE FROM) `((?:[^`]|``)*)`\.`((?:[^`]|``)*)`", re.MULTILINE)
LISTED = re.compile(rb"^### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$", re.MULTILINE)
NOT_LISTED = {b"shapes"}
"""mysqlbinlog gives up on rows with spatial columns."""
NOT_WRITTEN = {"load_data", "standalone", "if_not_exists", "reordered"}
"""Logs that SQL refuses, or of whose columns it does not know the names."""

SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
# The server's reader lists no rows whose times have fractions of before 10.1.
LISTINGS = [path for path in SMALL if path.stem not in NOT_WRITTEN | {"statements", "times_with_fractions"}]

INSERT = re.compile(rb"^INSERT INTO .*?;\n", re.MULTILINE | re.DOTALL)

UNSAFE = [*map(chr, range(0x20)), "\\", "\x7f"]
TEXT = LogicalType(Kind.TEXT, "text", charset="utf8mb4")


def name_of(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def read_text_literal(literal: str, *, escapes: bool = False) -> str:
    """The text that a server reads: whatever its sql_mode, or where backslashes escape; else an error."""
    digits = re.fullmatch(r"_utf8mb4 x'([0-9a-f]*)'", literal)
    if digits is not None:
        return bytes.fromhex(digits[1]).decode()
    plain = re.fullmatch(r"'((?:[^'\\\x00-\x1f\x7f]|''|\\[\\nrt0])*)'", literal)
    assert plain is not None, literal
    assert escapes or "\\" not in literal
    return re.sub(r"''|\\(.)", lambda found: ESCAPED[found[1]] if found[1] else "'", plain[1])


def literals_of(array: pa.Array, logical: LogicalType, *, exact: bool = False) -> list[bytes]:
    return texts_of(SqlValues(compared=exact).spelled(array, logical), len(array))


@given(st.text())
def test_a_text_is_read_back_with_and_without_backslash_escapes(text: str) -> None:
    assert read_text_literal(text_literal(text)) == text


@given(
    st.lists(st.none() | st.text(st.sampled_from([*UNSAFE, "'", '"', "`", ";", "a", "é", "🍀"])), min_size=1)
)
def test_a_column_of_texts_is_read_back(values: list[str | None]) -> None:
    literals = literals_of(pa.array(values, pa.string()), TEXT)
    read = [
        None if literal == b"NULL" else read_text_literal(literal.decode(), escapes=True)
        for literal in literals
    ]
    assert read == values


@pytest.mark.parametrize("charset", ["utf8mb4", "latin1"])
def test_lines_tabs_and_backslashes_of_a_row_can_be_read(charset: str) -> None:
    text = 'a\nb\r\n\tit\'s {"path": "C:\\\\x"}\0'
    array = pa.array([text.encode("ascii"), b"bell\x07"], pa.binary())
    literals = literals_of(array, LogicalType(Kind.TEXT, "text", charset=charset))
    assert literals[0].decode() == r"""'a\nb\r\n\tit''s {"path": "C:\\\\x"}\0'"""
    assert literals[1] == b"_utf8mb4 x'62656c6c07'"


@given(
    st.lists(st.none() | st.binary(), min_size=1), st.sampled_from(["latin1", "gbk", "utf8mb4", "ucs2", None])
)
def test_text_that_is_none_in_its_charset_keeps_its_bytes(
    values: list[bytes | None], charset: str | None
) -> None:
    logical = LogicalType(Kind.TEXT, "text", charset=charset)
    literals = literals_of(pa.array(values, pa.binary()), logical)
    for value, literal in zip(values, literals, strict=True):
        bare = re.fullmatch(r"_(\w+) x'([0-9a-f]*)'", literal.decode())
        if value is None:
            assert literal == b"NULL"
        elif bare is not None and bare[1] != "utf8mb4":
            assert bytes.fromhex(bare[2]) == value
        elif bare is not None:
            bytes.fromhex(bare[2])
        else:
            read_text_literal(literal.decode(), escapes=True)


CHARSETS = ("latin1", "cp1251", "gbk", "sjis", "big5", "cp932", "eucjpms", "ucs2", "gb18030", "greek")


@given(
    st.lists(st.none() | st.text(max_size=8) | st.binary(max_size=4), min_size=1),
    st.sampled_from(CHARSETS),
    st.integers(0, 2),
)
def test_a_text_is_written_the_same_whatever_values_stand_beside_it(
    values: list[str | bytes | None], name: str, cut: int
) -> None:
    charset = charset_of_name(name)
    assert charset is not None
    column = [charset.encode(value) if isinstance(value, str) else value for value in values]
    array = pa.array([b"", b"a"][:cut] + column, pa.binary())[cut:]
    literals = literals_of(array, LogicalType(Kind.TEXT, "text", charset=name))
    for value, literal in zip(column, literals, strict=True):
        text = None if value is None else charset.decode_strictly(value)
        if value is None:
            assert literal == b"NULL"
        elif text is None or not charset.is_written_back(text):
            assert literal == b"_%b x'%b'" % (name.encode(), value.hex().encode())
        else:
            assert read_text_literal(literal.decode(), escapes=True) == text


def test_text_that_a_server_would_store_as_other_bytes_is_given_as_its_bytes() -> None:
    logical = LogicalType(Kind.TEXT, "text", charset="cp932")
    values = pa.array([b"\x82\xa0", b"\x87\x90", None, b"a\x81\xe0"], pa.binary())
    literals = ["'あ'", "_cp932 x'8790'", "NULL", "_cp932 x'6181e0'"]
    assert [literal.decode() for literal in literals_of(values, logical)] == literals
    (exact,) = literals_of(values[1:2], logical, exact=True)
    assert exact == b"CONVERT(_cp932 x'8790' USING utf8mb4)"


@given(st.lists(st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_float_is_read_back_through_a_double_and_never_out_of_range(values: list[float | None]) -> None:
    logical = LogicalType(Kind.FLOAT32, "float")
    literals = literals_of(pa.array(values, pa.float32()), logical)
    exact = literals_of(pa.array(values, pa.float32()), logical, exact=True)
    for value, literal, comparable in zip(values, literals, exact, strict=True):
        if value is not None:
            assert struct.pack("<f", float(literal)) == struct.pack("<f", value)
            assert struct.pack("<d", float(comparable)) == struct.pack("<d", value)
            assert b"e" in literal


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_double_is_read_back(values: list[float | None]) -> None:
    literals = literals_of(pa.array(values, pa.float64()), LogicalType(Kind.FLOAT64, "double"))
    read = [None if literal == b"NULL" else struct.pack("<d", float(literal)) for literal in literals]
    assert read == [None if value is None else struct.pack("<d", value) for value in values]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(RefusedError, match="NaN or infinity"):
        SqlValues().spelled(pa.array([1.0, value]), LogicalType(Kind.FLOAT64, "double"))


@given(st.lists(st.none() | st.decimals(-(10**27), 10**27, places=10), min_size=1))
def test_a_decimal_has_all_its_digits_and_no_exponent(values: list[Decimal | None]) -> None:
    logical = LogicalType(Kind.DECIMAL, "decimal", precision=38, scale=10)
    literals = literals_of(pa.array(values, pa.decimal128(38, 10)), logical)
    for value, literal in zip(values, literals, strict=True):
        if value is not None:
            assert re.fullmatch(rb"-?\d+\.\d{10}", literal)
            assert Decimal(literal.decode()) == value


@given(st.data(), st.integers(0, 18))
def test_a_short_decimal_is_what_arrow_makes_of_it(data: st.DataObject, scale: int) -> None:
    numbers = st.decimals(-(10 ** (18 - scale)) + 1, 10 ** (18 - scale) - 1, places=scale)
    values = data.draw(st.lists(st.none() | numbers, min_size=1))
    logical = LogicalType(Kind.DECIMAL, "decimal", precision=18, scale=scale)
    short, long = (pa.array(values, pa.decimal128(digits, scale)) for digits in (18, 38))
    assert literals_of(short, logical) == literals_of(long, logical)


@given(st.lists(st.integers(-3020399999999, 3020399999999), min_size=1), st.integers(0, 6))
def test_a_time_is_hours_minutes_seconds_and_a_fraction(values: list[int], digits: int) -> None:
    unit = 10 ** (6 - digits)
    values = [value // unit * unit for value in values]
    logical = LogicalType(Kind.TIME, "time", fraction=digits)
    literals = literals_of(pa.array(values, pa.duration("us")), logical)
    for value, literal in zip(values, literals, strict=True):
        match = re.fullmatch(r"'(-?)(\d{2,3}):([0-5]\d):([0-5]\d)(?:\.(\d+))?'", literal.decode())
        assert match is not None
        sign, hours, minutes, seconds, fraction = match.groups()
        assert len(fraction or "") == digits
        size = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 10**6 + int(
            (fraction or "0").ljust(6, "0")
        )
        assert (-size if sign else size) == value


@given(st.text(min_size=1))
def test_a_name_cannot_leave_its_backticks(name: str) -> None:
    quoted = identifier(name)
    assert quoted[0] == quoted[-1] == "`"
    assert quoted[1:-1].replace("``", "").count("`") == 0
    assert quoted[1:-1].replace("``", "`") == name


@given(st.text())
def test_a_remark_stays_in_its_line(text: str) -> None:
    assert comment_text(text).isprintable()


@pytest.mark.parametrize("path", LISTINGS, ids=name_of)
def test_rows_of_several_tables_follow_one_another_as_in_the_log(path: Path) -> None:
    found = [change for change in CHANGE.findall(sql_of(path)) if change[2] not in NOT_LISTED]
    assert found == [
        (operation, db.replace(b"`", b"``"), table.replace(b"`", b"``"))
        for operation, db, table in LISTED.findall(path.with_suffix(".txt").read_bytes())
        if table not in NOT_LISTED
    ]


@pytest.mark.parametrize("server", SERVERS)
def test_the_pieces_that_are_decoded_at_a_time_do_not_show(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SHOPS[server][3:4]
    catalog = known_before(SHOPS[server][:3])
    whole, objects = sql_of(*files, catalog=catalog.copy()), json_of(*files)
    monkeypatch.setattr(changes_module, "PIECE_ROWS", 1)
    monkeypatch.setattr(changes_module, "PIECE_BYTES", 1000)
    assert sql_of(*files, catalog=catalog.copy()) == whole
    assert json_of(*files) == objects


def known_before(files: list[Path]) -> Catalog:
    """The tables that some logs lead to."""
    catalog = Catalog()
    write_sql(everything(files), io.BytesIO(), catalog)
    return catalog


def without_first(path: Path, count: int) -> Iterator[Selected]:
    """All transactions of a log but for some at its beginning."""
    for part in everything([path]):
        part.mask[:count] = bytes(count)
        yield part


def test_a_table_without_names_is_refused_and_the_message_says_what_helps() -> None:
    path = TESTDATA / "mariadb-10.11" / "small" / "all_types_no_metadata.binlog"
    with pytest.raises(RefusedError, match=r"with --schema") as refused:
        check_sql(without_first(path, 4), Catalog())
    assert refused.value.exit_code == 1


def test_checking_leaves_the_catalog_as_it_is() -> None:
    catalog = Catalog()
    check_sql(everything(SHOPS["mysql-9.7"][:1]), catalog)
    assert len(catalog) == 0


def replay_of(server: str) -> bytes:
    return sql_of(TESTDATA / server / "small" / "replay.binlog")


def test_a_statement_with_semicolons_is_given_an_end_of_its_own() -> None:
    text = sql_of(TESTDATA / "mysql-9.7" / "small" / "statements.binlog").decode()
    assert (
        "DELIMITER $$\nINSERT INTO t (a) VALUES ('line\nbreak; semicolon -- no comment')\n$$\nDELIMITER ;\n"
        in text
    )


def test_a_document_in_a_row_without_a_key_is_found_by_what_it_prints_too() -> None:
    text = sql_of(TESTDATA / "mysql-9.7" / "small" / "json_without_key.binlog").decode()
    document = "JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST(x'00ff' AS BINARY))"
    assert (
        f"(`j` <=> CAST({document} AS JSON) OR CAST(`j` AS CHAR) <=> {document} COLLATE utf8mb4_0900_bin)"
        in text
    )
    assert "(`other` <=> CAST(NULL AS JSON))" in text


@pytest.mark.parametrize("server", SERVERS)
def test_a_statement_has_the_connection_that_ran_it_and_rows_have_none(server: str) -> None:
    text = replay_of(server).decode(errors="replace")
    connections = re.findall(r"pseudo_thread_id=(1\d{3})", text)
    assert connections == ["1000", "1001", "1000", "1001", "1000"]
    rows = text.index("INSERT INTO `small`.`defaults`")
    assert text[:rows].rindex("pseudo_thread_id=0") > text[:rows].rindex("CREATE TABLE")


def test_bytes_of_a_multi_byte_character_set_are_read_by_the_client_as_the_server_reads_them() -> None:
    session = SqlSession(parse_format(samples.MYSQL_FORMAT, 0))
    session.start()
    assert session.for_bytes("utf8mb4") == ("", "")
    before, behind = session.for_bytes("gbk")
    assert before == "/*!\\C gbk */;\nSET @@session.character_set_client='gbk';\n"
    assert behind == "/*!\\C utf8mb4 */;\nSET NAMES utf8mb4;\n"
    assert "character_set_connection='utf8mb4'" in session.for_rows(0)


@pytest.mark.parametrize(
    ("version", "before"),
    [
        ("5.6.1", "/*!50700 SET @@session.explicit_defaults_for_timestamp=0 */;"),
        ("5.7.44", "/*!50700 SET @@session.explicit_defaults_for_timestamp=0 */;"),
        ("8.0.2", ""),
        ("10.6.1-MariaDB", "/*M!101000 SET @@session.explicit_defaults_for_timestamp=0 */;"),
        ("10.11.19-MariaDB", ""),
    ],
)
def test_servers_that_do_not_log_it_had_no_explicit_defaults_for_timestamp(version: str, before: str) -> None:
    event = bytearray(samples.MYSQL_FORMAT)
    event[21:71] = version.encode().ljust(50, b"\0")
    lines = SqlSession(parse_format(bytes(event), 0)).start().splitlines()
    assert [line for line in lines if "explicit_defaults" in line] == ([before] if before else [])


def test_a_script_begins_with_the_compiled_collation_of_each_character_set() -> None:
    """MariaDB has others since 11.2, and logs them with the statements that depend on them."""
    before = "/*M!110201 SET @@session.character_set_collations='' */;"
    assert before in SqlSession(parse_format(samples.MARIADB_FORMAT, 0)).start().splitlines()
    assert before not in SqlSession(parse_format(samples.MYSQL_FORMAT, 0)).start().splitlines()


def test_modes_that_mysql_removed_are_masked_where_they_are_unknown() -> None:
    session = SqlSession(parse_format(samples.MYSQL_FORMAT, 0))
    modes = "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER"
    (statement, *_) = (
        item
        for item in ordered_changes(
            everything([TESTDATA / "mysql-9.7" / "small" / "ddl.binlog"]),
            reading_in_pieces(Catalog()),
            lambda *_: [],
        )
        if isinstance(item, Statement)
    )
    text = session.for_statement(statement._replace(options={"sql_mode": modes}))
    assert f"@@session.sql_mode={(1 << 21) + (1 << 28)}/*!80005 &~0x1003ff00*/ /* {modes} */" in text
    (mariadb, *_) = (
        line for line in replay_of("mariadb-10.11").splitlines() if b"NO_AUTO_CREATE_USER" in line
    )
    assert b"80005" not in mariadb


def test_a_savepoint_whose_name_is_no_text_is_called_by_its_escapes(tmp_path: Path) -> None:
    data = (TESTDATA / "mysql-9.7" / "small" / "savepoints_ansi.binlog").read_bytes()
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(data.replace(b'SAVEPOINT "a b"', b'SAVEPOINT "\xff\\\xfe"'))
    lines = sql_of(log, verify=False).decode().splitlines()
    assert [line for line in lines if "xff" in line] == ['SAVEPOINT "\\xff\\\\xfe";']


@pytest.mark.parametrize(
    "path",
    [path for path in SMALL if path.stem in {"all_types", "statements", "xa", "partial_json"}],
    ids=name_of,
)
def test_a_damaged_log_gives_nothing_but_errors_of_ours(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    damaged = tmp_path / path.name
    for place in range(200, len(data), len(data) // 15):
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        for write in (sql_of, json_of):
            with suppress(BinxError):
                write(damaged, verify=False)


@pytest.mark.parametrize("server", SERVERS)
def test_inserts_of_one_table_that_follow_each_other_are_one_statement_up_to_a_size(server: str) -> None:
    path = TESTDATA / server / "small" / "charsets.binlog"

    def inserts(statement_bytes: int) -> list[bytes]:
        output = io.BytesIO()
        write_sql(everything([path]), output, Catalog(), statement_bytes)
        return INSERT.findall(output.getvalue())

    alone, together, all_in_one = inserts(1), inserts(2500), inserts(1024 * 1024)
    assert all(statement.count(b"\n") == 1 for statement in alone)
    assert len(alone) >= len(together) >= len(all_in_one) < len(alone)
    assert all(len(statement) <= 2500 or statement.count(b"\n") == 1 for statement in together)

    def rows(statements: list[bytes]) -> list[tuple[bytes, bytes]]:
        heads_and_rows = (statement.split(b" VALUES ", 1) for statement in statements)
        return [(head, row) for head, listed in heads_and_rows for row in listed[:-2].split(b",\n")]

    assert rows(together) == rows(all_in_one) == rows(alone)


@pytest.mark.parametrize("name", ["all_types", "json_without_key", "partial_json", "charsets"])
def test_documents_whose_values_have_types_that_sql_can_give_are_not_told(name: str) -> None:
    path = TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog"
    report = write_sql(everything([path]), io.BytesIO(), Catalog())
    assert not [warning for warning in report.warnings if warning.startswith("JSON documents of")]
