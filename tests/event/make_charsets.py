"""Write ``charsets.tsv.xz`` beside this file again: every character of every character set, by two servers.

Run it where MySQL and MariaDB are (see ``testdata/programs.py``)::

    python tests/event/make_charsets.py

Each line is a character set's name, the bytes of all its characters one after the other in hexadecimal,
what ``CONVERT(CONVERT(bytes USING name) USING utf8mb4)`` makes of them, in hexadecimal too, and the
characters that are written back as other bytes: ``bytes>other bytes`` with commas between. Of the sets
that hold all of Unicode the lines have a part: every 31st code point, and those around the borders of planes
and of encoded lengths; of gb18030 all of one and two bytes besides. The servers must agree on the sets that
both know.

What a server takes for well-formed but turns into U+FFFD or ``?`` is no character and is left out.
"""

from __future__ import annotations

import lzma
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from testdata.servers import MariaDBServer, MySQLServer, Server

HERE = Path(__file__).parent
UNICODE = ("gb18030", "ucs2", "utf16", "utf16le", "utf32", "utf8mb3", "utf8mb4")
STEP = 31
BORDERS = (0x80, 0x800, 0xD800, 0xE000, 0x10000, 0x110000)
NUMBERS = "CREATE DATABASE sets; CREATE TABLE sets.numbers (n INT PRIMARY KEY);" + (
    "INSERT INTO sets.numbers SELECT a.x * 4096 + b.x * 256 + c.x * 16 + d.x FROM "
    + ", ".join(
        f"(SELECT 0 AS x {' '.join(f'UNION SELECT {digit}' for digit in range(1, 16))}) AS {name}"
        for name in "abcd"
    )
)

Characters = dict[bytes, tuple[str, bytes]]
"""What a server reads of each sequence of bytes, and the bytes that it writes for that."""


def character_sets(server: Server) -> dict[str, int]:
    """The names of the server's character sets, with the most bytes that a character takes."""
    rows = server.query("SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS")
    return {str(name): int(size or 0) for name, size in rows if name != "binary"}


def of_bytes(server: Server, name: str, prefix: str, width: int) -> Characters:
    """The characters whose bytes are a prefix and all numbers of a width."""
    return answers(
        server,
        name,
        f"SELECT b, CONVERT(b USING {name}) AS c FROM (SELECT CONCAT(x'{prefix}',"
        f" UNHEX(LPAD(HEX(n), {2 * width}, '0'))) AS b FROM sets.numbers WHERE n < {256**width}) AS t",
    )


def of_code_points(server: Server, name: str) -> Characters:
    """A part of the characters of a set that holds all of Unicode."""
    points = {*range(0, 0x110000, STEP), *(near + by for near in BORDERS for by in range(-3, 3))}
    points -= {*range(0xD800, 0xE000), *range(0x110000, 0x110010)}
    by_bytes: Characters = {}
    chosen = sorted(points)
    for start in range(0, len(chosen), 5000):
        union = " UNION ALL SELECT ".join(f"x'{point:08x}'" for point in chosen[start : start + 5000])
        server.sql(f"CREATE TABLE sets.points (p VARBINARY(4)) SELECT {union} AS p")
        by_bytes |= answers(
            server,
            name,
            f"SELECT CAST(c AS BINARY) AS b, c FROM (SELECT CONVERT(CONVERT(p USING utf32) USING {name}) AS c"
            " FROM sets.points) AS t",
        )
        server.sql("DROP TABLE sets.points")
    return by_bytes


def answers(server: Server, name: str, pairs: str) -> Characters:
    """What the server makes of bytes ``b`` that are one character ``c`` of a set."""
    lines = server.sql(
        "SET sql_mode = ''; SELECT HEX(b), HEX(CONVERT(c USING utf8mb4)),"
        f" HEX(CONVERT(CONVERT(c USING utf8mb4) USING {name})) FROM ({pairs}) AS p"
        " WHERE CHAR_LENGTH(c) = 1 AND CAST(c AS BINARY) = b"
    ).splitlines()
    by_bytes = {}
    for line in lines:
        data, text, written = (bytes.fromhex(field) for field in line.split("\t"))
        if text.decode() not in ("", "\ufffd") and (text != b"?" or b"?" in data):
            by_bytes[data] = text.decode(), written
    return by_bytes


def characters(server: Server, name: str, most_bytes: int) -> Characters:
    """All characters of a set, or the part of one that holds all of Unicode."""
    by_bytes: Characters = {}
    if name not in UNICODE or name == "gb18030":
        by_bytes |= of_bytes(server, name, "", 1)
        if most_bytes > 1:
            by_bytes |= of_bytes(server, name, "", 2)
    if name in UNICODE:
        return by_bytes | of_code_points(server, name)
    if most_bytes == 3:
        by_bytes |= of_bytes(server, name, "8f", 2)
    return by_bytes


def main() -> None:
    """Ask both servers, compare, write."""
    answered: dict[str, dict[str, Characters]] = {}
    for kind in (MySQLServer, MariaDBServer):
        with tempfile.TemporaryDirectory(prefix="charsets-") as folder, kind(Path(folder)) as server:
            server.sql(NUMBERS)
            sets = character_sets(server)
            answered[server.daemon] = {name: characters(server, name, sets[name]) for name in sorted(sets)}
    mysql, mariadb = answered["mysqld"], answered["mariadbd"]
    for name in mysql.keys() & mariadb.keys():
        if mysql[name] != mariadb[name]:
            raise SystemExit(f"the servers do not agree on {name}")
    lines = []
    for name, by_bytes in sorted((mariadb | mysql).items()):
        data = sorted(by_bytes)
        text = "".join(by_bytes[character][0] for character in data)
        others = [f"{read.hex()}>{written.hex()}" for read in data if read != (written := by_bytes[read][1])]
        lines.append(f"{name}\t{b''.join(data).hex()}\t{text.encode().hex()}\t{','.join(others)}\n")
    (HERE / "charsets.tsv.xz").write_bytes(lzma.compress("".join(lines).encode(), preset=9))


if __name__ == "__main__":
    main()
