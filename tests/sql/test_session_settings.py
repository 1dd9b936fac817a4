"""The session that a script sets up for rows and statements."""

from __future__ import annotations

import pytest

from binx.event.format import parse_format
from binx.sql.session_settings import SqlSession
from tests.event import samples


def test_bytes_of_a_multi_byte_character_set_are_read_by_the_client_as_the_server_reads_them() -> None:
    session = SqlSession(parse_format(samples.MYSQL_FORMAT, 0))
    session.start()
    assert session.for_bytes("utf8mb4") == ("", "")
    before, after = session.for_bytes("gbk")
    assert before == "/*!\\C gbk */;\nSET @@session.character_set_client='gbk';\n"
    assert after == "/*!\\C utf8mb4 */;\nSET NAMES utf8mb4;\n"
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
