"""Write the golden files of MySQL's binary JSON again, from a server's binary log and its answers.

Run it against a MySQL server (5.7 or later) that writes row-based binary logs
with CRC32 checksums, and that nothing else writes to meanwhile::

    python tests/kernels/json/make_documents.py --client "mysql -uroot -N" --binlogs /var/lib/mysql

It creates the schema ``binx_json`` again, stores documents, takes their bytes out
of the binary log with nothing of binx, and writes beside itself

``documents.tsv``
    the document's bytes in hexadecimal, and the text that SELECT gave;
``large_documents.tsv.gz``
    the same for documents with offsets of four bytes;
``diffs.tsv``
    the bytes of a document and of its partial update in hexadecimal, and the text
    after it.
"""

import argparse
import gzip
import json
import math
import random
import shlex
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
WRITE_ROWS = 30
DELETE_ROWS = 32
PARTIAL_UPDATE_ROWS = 39

TEXTS = [
    "null", "true", "false", "0", "-0", "1", "-1", "[]", "{}", "[[]]", '[{}, {"a": []}]', '""', '"x"',
    "32767", "32768", "-32768", "-32769", "65535", "65536", "2147483647", "2147483648", "-2147483648",
    "-2147483649", "4294967295", "4294967296", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "[null, true, false, 1, -1, 65535, 70000, -70000, 5000000000, -5000000000, 1.5, \"s\", [], {}]",
    '{"a": 1, "b": [1, 2.0, "x"]}', '{"": "", "long": {"longer": {"longest": [[[[{"deep": null}]]]]}}}',
    '{"z": 1, "a": 2, "aa": 3, "b": 4, "é": 5, "日本": 6, "😀": 7, " ": 8, "a b": 9}',
    '{"quote\\"d": "a\\"b", "back\\\\slash": "\\\\", "line\\nfeed": "\\n\\r\\t\\b\\f/"}',
    json.dumps("".join(map(chr, range(32)))),
    json.dumps("".join(map(chr, range(32, 300))), ensure_ascii=False),
    '"\\u0000"', '"\\u007f\\u0080\\u07ff\\u0800\\ud7ff\\ue000\\uffff\\ud800\\udc00\\udbff\\udfff"',
    "[1.0, 1e100, -0.0, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1, 1e2, 1.0E+2]",
    json.dumps("x" * 126), json.dumps("x" * 127), json.dumps("x" * 128), json.dumps("é" * 600),
    json.dumps({f"key{i}": i for i in range(60)}), json.dumps(list(range(-40, 40))),
    json.dumps({"k" * size: size for size in (0, 1, 127, 128, 255, 256, 400)}),
    "[" * 100 + "]" * 100, '{"a":' * 99 + "[1]" + "}" * 99,
]  # fmt: skip

EXPRESSIONS = [
    "JSON_ARRAY(1e14, 1e15, 1e16, 1e17, 1e22, 1e23, 1e-4, 1e-5, 1e-14, 1e-15, 1e-16, 1.5e-14, 1.5e-16)",
    "JSON_ARRAY(123456789012345e0, 1234567890123456e0, 12345678901234567e0, 1234567890123456.5e0)",
    "JSON_ARRAY(POW(2, -44), POW(2, 52), POW(2, 53), POW(2, 60), POW(2, 63), POW(2, 64), POW(2, 1023))",
    "JSON_ARRAY(-POW(2, -1074), POW(2, -1022), -POW(2, -20), 1/3e0, -2/3e0, 1e0/7, 0.1e0 + 0.2e0, 100e0/3)",
    "JSON_ARRAY(CAST(1.1 AS FLOAT), CAST(16777217 AS FLOAT), CAST(3.4e38 AS FLOAT))",
    "JSON_ARRAY(0.0, 0.5, -0.5, 1.10, -12.3400, 123456789.123456789, 999999999999999999, 0.000000001)",
    "JSON_ARRAY(CAST(0 AS DECIMAL(1, 0)), CAST(0 AS DECIMAL(2, 2)), CAST(-0.01 AS DECIMAL(2, 2)))",
    f"JSON_ARRAY(CAST('{'9' * 65}' AS DECIMAL(65, 0)), CAST('-{'9' * 35}.{'9' * 30}' AS DECIMAL(65, 30)))",
    f"JSON_ARRAY(CAST('{'9' * 38}' AS DECIMAL(38, 0)), CAST('-0.{'0' * 29}1' AS DECIMAL(30, 30)))",
    "JSON_ARRAY(DATE'2020-01-02', DATE'0001-01-01', DATE'9999-12-31', CAST('0000-00-00' AS DATE))",
    "JSON_ARRAY(TIMESTAMP'2020-01-02 03:04:05', TIMESTAMP'9999-12-31 23:59:59.999999')",
    "JSON_ARRAY(CAST('2020-00-00' AS DATETIME), CAST('0000-00-00' AS DATETIME))",
    "JSON_ARRAY(TIME'00:00:00', TIME'12:03:04', TIME'-12:03:04.5', TIME'838:59:59', TIME'-838:59:59')",
    "JSON_ARRAY(TIME'-00:00:00.000001', TIME'00:00:00.1', TIME'100:00:00')",
    "JSON_ARRAY(FROM_UNIXTIME(0), FROM_UNIXTIME(2147483647.999999), UTC_DATE() - INTERVAL 9000 YEAR)",
    "JSON_ARRAY((SELECT stamp FROM others), (SELECT year FROM others), (SELECT bits FROM others))",
    "JSON_ARRAY((SELECT member FROM others), (SELECT members FROM others), (SELECT bytes FROM others))",
    "JSON_ARRAY((SELECT blob_ FROM others), (SELECT point FROM others), (SELECT padded FROM others))",
    "JSON_OBJECT('date', DATE'2020-01-02', 'decimal', 1.5, 'blob', x'cafebabe', 'time', TIME'01:02:03')",
    "CAST(x'00' AS JSON)", "CAST(1.25 AS JSON)",
    "CAST(DATE'2020-01-02' AS JSON)", "CAST(TIME'01:00:00' AS JSON)",
    *(f"CAST(REPEAT(x'5A', {size}) AS JSON)" for size in (1, 2, 3, 55, 56, 57, 58, 59, 114, 115, 300)),
]  # fmt: skip

CHANGES = [
    ('{"a": 1, "b": [1, 2, 3], "c": {"d": "old"}}', "JSON_SET(document, '$.a', 2)"),
    ('{"a": 1, "b": [1, 2, 3], "c": {"d": "old"}}',
     "JSON_REPLACE(document, '$.b[1]', 'new', '$.c.d', CAST('[]' AS JSON))"),
    ('{"a": 1, "b": [1, 2, 3], "c": {"d": "old"}}', "JSON_REMOVE(document, '$.b[0]', '$.c')"),
    ('{"a": 1, "b": [1, 2, 3], "c": {"d": "old"}}',
     "JSON_SET(document, '$.e', CAST('{\"f\": null}' AS JSON), '$.b[3]', 1.5e0)"),
    ('{"a b": {"q\\"uote": "an old text that is long enough"}, "é": [{"x": true}]}',
     "JSON_REMOVE(JSON_SET(document, '$.\"a b\".\"q\\\\\"uote\"', 'tab\\t', '$.é[0].x', false), '$.é[0].x')"),
    ('{"amount": "000000000000000000000000000000"}', "JSON_SET(document, '$.amount', 12.50)"),
    ('{"when": "000000000000000000000000000000"}', "JSON_SET(document, '$.when', DATE'2020-02-03')"),
    ('[[1, 2], "0000000000000000"]', "JSON_SET(document, '$[0][1]', NULL, '$[1]', 'short')"),
    (json.dumps({f"k{i}": "0" * 40 for i in range(20)}), "JSON_REMOVE(document, '$.k3', '$.k4', '$.k19')"),
    (json.dumps({"list": list(range(40))}), "JSON_REMOVE(document, '$.list[last]', '$.list[last-3]')"),
    (json.dumps({"list": list(range(40))}),
     "JSON_SET(document, '$.list[last-39]', 'x', '$.list[last-90]', 'y')"),
    (json.dumps({"x": "0" * 200, "aa": [{}]}),
     "JSON_SET(document, '$.b', 1, '$.a', 2, '$.ab', 3, '$.aaa', 4, '$.\"\"', 5, '$.aa[0].k', 6,"
     " '$.aa[7]', 7)"),
    (json.dumps({"x": "0" * 200, 'a"\\\n\u0001/é😀': {"$": 1}}),
     "JSON_SET(document, '$.\"a\\\\\"\\\\\\\\\\\\n\\\\u0001/é😀\".\"$\"', 2,"
     " '$.\"\\\\b\\\\f\\\\r\\\\t\"', 3)"),
    (json.dumps({"x": "0" * 300, "deep": [[[[{"a": [1, 2]}]]]]}),
     "JSON_REMOVE(JSON_SET(document, '$.deep[0][0][0][0].a[1]', CAST('[[{}]]' AS JSON)),"
     " '$.deep[0][0][0][0].a[0]')"),
    (json.dumps({"x": "0" * 300}),
     "JSON_SET(document, '$.n', CAST('{}' AS JSON), '$.n.o', CAST('[]' AS JSON),"
     " '$.n.o[0]', TIME'-01:02:03.4')"),
]  # fmt: skip


def doubles() -> Iterator[str]:
    """Arrays of numbers of every size and length, from bits and from short decimals."""
    chosen = random.Random(8)
    for _ in range(24):
        values: list[float] = []
        while len(values) < 16:
            (value,) = struct.unpack("<d", chosen.randbytes(8))
            if math.isfinite(value):
                values.append(value)
        yield json.dumps(values)
    for digits in range(1, 18):
        yield "[" + ", ".join(short_decimal(chosen, digits) for _ in range(12)) + "]"
    for exponent in range(-60, 61, 12):
        yield json.dumps([2.0**power for power in range(exponent, exponent + 12)])


def short_decimal(chosen: random.Random, digits: int) -> str:
    return f"{chosen.randrange(10 ** (digits - 1), 10**digits)}e{chosen.randrange(-22, 10)}"


def large_texts() -> list[str]:
    """Documents of over 64 KiB, whose containers need offsets of four bytes."""
    numbers = [
        1,
        -1,
        65535,
        70000,
        -70000,
        4294967295,
        5000000000,
        1.5,
        "s",
        None,
        True,
        [1, 70000],
        {"a": 1},
    ]
    return [
        json.dumps("x" * 70_000),
        json.dumps([*numbers, "x" * 66_000]),
        json.dumps(
            {"small": {"a": [70000]}, "text": "y" * 66_000, **{f"k{i}": n for i, n in enumerate(numbers)}}
        ),
        json.dumps([number % 50 for number in range(22_000)]),
        json.dumps({f"key{i}": {"n": 1, "t": "text"} for i in range(1_800)}),
        json.dumps([["z" * 66_000, [[1]]], {"inner": ["z" * 66_000]}]),
    ]


class Server:
    """The client program that was given, and the folder of its server's binary logs."""

    def __init__(self, client: str, binlogs: Path) -> None:
        options = "--default-character-set=utf8mb4 --skip-column-names --batch --raw"
        self._command = shlex.split(f"{client} {options}")
        self._binlogs = binlogs

    def ask(self, statements: str) -> list[str]:
        answer = subprocess.run(self._command, input=statements.encode(), check=True, capture_output=True)
        return answer.stdout.decode().split("\n")[:-1]

    def logged(self, statements: str) -> bytes:
        """Run statements in a binary log of their own, and give that log's bytes."""
        self.ask("FLUSH BINARY LOGS")
        name = self.ask("SHOW BINARY LOGS")[-1].split("\t")[0]
        self.ask(statements)
        self.ask("FLUSH BINARY LOGS")
        return (self._binlogs / name).read_bytes()


def rows_events(log: bytes, wanted: int) -> Iterator[bytes]:
    """The row images of events on the table of two columns: after post-header and column bitmaps."""
    position = 4
    while position < len(log):
        kind, size = log[position + 4], struct.unpack_from("<I", log, position + 9)[0]
        if kind == wanted:
            bitmaps = 2 if kind == PARTIAL_UPDATE_ROWS else 1
            yield log[position + 19 + 10 + 1 + bitmaps : position + size - 4]
        position += size


def whole(log: bytes, kind: int) -> dict[int, bytes]:
    """Documents by id: null bits, id, a length of four bytes, the document."""
    documents = {}
    for rows in rows_events(log, kind):
        position = 0
        while position < len(rows):
            number, size = struct.unpack_from("<iI", rows, position + 1)
            documents[number] = rows[position + 9 : position + 9 + size]
            position += 9 + size
    return documents


def updated(log: bytes) -> dict[int, bytes]:
    """Changes by id: null bits and id before; options, partial bits, null bits, a length, changes after."""
    changes = {}
    for rows in rows_events(log, PARTIAL_UPDATE_ROWS):
        number, options, partial, _, size = struct.unpack_from("<xiBBBI", rows)
        if options != 1 or partial != 1:
            raise SystemExit(f"the server logged document {number} in full: give it a smaller change")
        changes[number] = rows[12 : 12 + size]
    return changes


def literal(text: str) -> str:
    return f"CONVERT(x'{text.encode().hex()}' USING utf8mb4)"


def stored(server: Server, values: list[str]) -> list[tuple[bytes, str]]:
    """Store documents given as SQL; their bytes from the log, their text from the server."""
    server.ask("USE binx_json; TRUNCATE documents")
    settings = "USE binx_json; SET sql_mode = '', time_zone = '+00:00', timestamp = 1600000000;"
    inserts = (f"INSERT INTO documents VALUES ({number}, {value});" for number, value in enumerate(values))
    documents = whole(server.logged(settings + "\n".join(inserts)), WRITE_ROWS)
    return [(documents[number], text) for number, text in enumerate(texts(server))]


def worn(server: Server) -> list[tuple[bytes, str]]:
    """The documents that are stored, which updates in place have left with holes, deleted into the log."""
    after = texts(server)
    documents = whole(server.logged("USE binx_json; DELETE FROM documents ORDER BY id"), DELETE_ROWS)
    return [(documents[number], text) for number, text in enumerate(after)]


def texts(server: Server) -> list[str]:
    return server.ask("USE binx_json; SELECT document FROM documents ORDER BY id")


def changed(server: Server) -> Iterator[tuple[bytes, bytes, str]]:
    before = stored(server, [literal(text) for text, _ in CHANGES])
    settings = "USE binx_json; SET binlog_row_image = MINIMAL, binlog_row_value_options = PARTIAL_JSON;"
    updates = (
        f"UPDATE documents SET document = {change} WHERE id = {i};" for i, (_, change) in enumerate(CHANGES)
    )
    changes = updated(server.logged(settings + "\n".join(updates)))
    after = texts(server)
    for number, (document, _) in enumerate(before):
        yield document, changes[number], after[number]


def table(documents: list[tuple[bytes, str]]) -> str:
    return "".join(f"{document.hex()}\t{text}\n" for document, text in documents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--client", required=True, help="the command that runs SQL from its standard input")
    parser.add_argument("--binlogs", required=True, type=Path, help="the folder of the server's binary logs")
    given = parser.parse_args()
    server = Server(given.client, given.binlogs)
    server.ask("""
        SET sql_mode = '';
        DROP DATABASE IF EXISTS binx_json;
        CREATE DATABASE binx_json DEFAULT CHARACTER SET utf8mb4;
        USE binx_json;
        CREATE TABLE documents (id INT PRIMARY KEY, document JSON NOT NULL);
        CREATE TABLE others (
            stamp TIMESTAMP(6), year YEAR, bits BIT(12), member ENUM('a', 'b'), members SET('a', 'b'),
            bytes VARBINARY(9), blob_ BLOB, point POINT, padded BINARY(4)
        );
        INSERT INTO others VALUES (
            '2020-01-02 03:04:05.000006', 1999, b'101010101010', 'b', 'a,b',
            x'00ff', x'0102', POINT(1, -2.5), 'ab'
        );
    """)
    small = [literal(text) for text in [*TEXTS, *doubles()]] + EXPRESSIONS
    large = table(stored(server, [literal(text) for text in large_texts()]))
    (HERE / "large_documents.tsv.gz").write_bytes(gzip.compress(large.encode(), mtime=0))
    documents = stored(server, small)
    changes = "".join(
        f"{before.hex()}\t{change.hex()}\t{after}\n" for before, change, after in changed(server)
    )
    (HERE / "diffs.tsv").write_text(changes, encoding="utf-8")
    (HERE / "documents.tsv").write_text(table(documents + worn(server)), encoding="utf-8")
    server.ask("DROP DATABASE binx_json")


if __name__ == "__main__":
    main()
