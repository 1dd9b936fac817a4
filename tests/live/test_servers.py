"""The harness that starts servers says what they said."""

from __future__ import annotations

import pytest

from testdata.servers import Server, ServerError


def test_a_query_distinguishes_null_from_its_name_and_keeps_markup_and_line_ends(server: Server) -> None:
    answer = server.query("SELECT NULL, 'NULL', '', '<a href=\"&amp;\">', 'one\\r\\n\\ttwo', '🍀'")
    assert answer == [(None, "NULL", "", '<a href="&amp;">', "one\r\n\ttwo", "🍀")]


def test_statements_of_one_call_share_a_session(server: Server) -> None:
    assert server.sql("SET @a = 41; SELECT @a + 1;") == "42\n"


def test_a_statement_that_fails_raises_what_the_client_said(server: Server) -> None:
    with pytest.raises(ServerError, match="1146"):
        server.sql("SELECT * FROM mysql.no_such_table")


def test_a_flushed_log_is_closed_and_can_be_read(server: Server) -> None:
    server.sql("CREATE DATABASE harness; CREATE TABLE harness.t (id INT PRIMARY KEY)")
    server.sql("INSERT INTO t VALUES (7)", "harness")
    server.flush_logs()
    listing = server.mysqlbinlog("-v", server.binlogs()[-2])
    server.sql("DROP DATABASE harness")
    assert b"### INSERT INTO `harness`.`t`" in listing
    assert b"\tRotate to" in listing


def test_a_server_can_stop_and_start_again_with_its_data(server: Server) -> None:
    server.sql("CREATE DATABASE kept")
    server.stop()
    server.start()
    assert server.query("SHOW DATABASES LIKE 'kept'") == [("kept",)]
    server.sql("DROP DATABASE kept")
