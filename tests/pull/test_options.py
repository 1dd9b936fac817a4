"""How a server is named, and how connections to it are encrypted."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import SourceError, UsageError
from binx.pull.defaults_file import read_defaults
from binx.pull.follow import check_request
from binx.pull.options import Login, PullRequest, Tls, TlsMode, parse_url


def test_a_url_gives_what_it_has() -> None:
    assert parse_url("mysql://binx@db1:3307") == {"host": "db1", "port": 3307, "user": "binx"}
    assert parse_url("mariadb://[::1]") == {"host": "::1"}
    assert parse_url("mysql://a%40b:p%3Aw@db1/") == {"host": "db1", "user": "a@b", "password": "p:w"}


@pytest.mark.parametrize(
    "url", ["db1", "http://db1", "mysql://db1/shop", "mysql://db1:x", "mysql://db1?ssl=1"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="mysql://"):
        parse_url(url)


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(UsageError) as told:
        parse_url("mysql://me:secret@db1/shop")
    assert "secret" not in str(told.value)
    assert "secret" not in repr(Login(password="secret"))


def test_files_of_certificates_say_how_much_is_verified() -> None:
    assert Tls.of(None, None, None, None).mode is TlsMode.PREFERRED
    assert Tls.of(None, "ca.pem", None, None).mode is TlsMode.VERIFY_CA
    assert Tls.of(None, None, "cert.pem", "key.pem").mode is TlsMode.REQUIRED
    assert Tls.of("verify-identity", "ca.pem", None, None).mode is TlsMode.VERIFY_IDENTITY


@pytest.mark.parametrize(
    ("mode", "ca", "certificate", "key"),
    [
        ("verify-ca", None, None, None),
        ("verify-identity", None, None, None),
        ("preferred", "ca.pem", None, None),
        (None, None, None, "key.pem"),
    ],
)
def test_what_contradicts_itself_is_refused(
    mode: str | None, ca: str | None, certificate: str | None, key: str | None
) -> None:
    with pytest.raises(UsageError):
        Tls.of(mode, ca, certificate, key)


def test_semi_sync_takes_no_interval_and_parquet_an_archive() -> None:
    for request in (
        PullRequest(Login(), Path("to"), semi_sync=True, interval=True),
        PullRequest(Login(), Path("to"), parquet="lake"),
    ):
        with pytest.raises(UsageError):
            check_request(request)
    check_request(PullRequest(Login(), Path("to"), semi_sync=True, archive="a", parquet="lake"))


def test_option_files_are_read_as_clients_read_them(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.cnf").write_text("[client]\nuser=other\n[mysqld]\nport=1\n")
    main = tmp_path / "my.cnf"
    main.write_text(
        "# of the client\n[client]\nuser = 'binx' # the account\npassword=\"a # b\"\nport=3307\n"
        "skip-something\nssl_ca = /etc/ca\\sof\\sours.pem\n; none\n[mysqldump]\nuser=dump\n"
        "!includedir more\n[binx]\nloose-host=db1\n"
    )
    assert read_defaults(str(main)) == {
        "user": "other",
        "password": "a # b",
        "port": "3307",
        "ssl-ca": "/etc/ca of ours.pem",
        "host": "db1",
    }


def test_an_option_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        read_defaults(str(tmp_path / "none"))
