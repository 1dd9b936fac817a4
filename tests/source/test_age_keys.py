"""Keys of age files: which are taken, and what is said of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binx.errors import SourceError, UsageError
from binx.source.age import given_identities, parse_recipient, read_recipients
from tests.source.ages import EXAMPLE_IDENTITY, EXAMPLE_RECIPIENT, make_key


def test_identities_come_from_the_environment_too(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = make_key(tmp_path, "other")
    monkeypatch.setenv("BINX_IDENTITY", f"{other}{os.pathsep}{key}")
    assert len(given_identities().found) == 2
    assert given_identities([str(key)]).origin == str(key)


def test_nothing_shows_a_secret(key: Path) -> None:
    identities = given_identities([str(key)])
    (identity,) = identities.found
    assert identity in key.read_text()
    assert identity not in repr(identities)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="absent"):
        given_identities([str(tmp_path / "absent")])
    with pytest.raises(SourceError, match="absent"):
        read_recipients(str(tmp_path / "absent"))


def test_recipients_are_read_as_age_does(tmp_path: Path) -> None:
    lines = tmp_path / "recipients"
    lines.write_text(f"# backup\n\n{EXAMPLE_RECIPIENT}\r\n  {EXAMPLE_RECIPIENT}\n")
    assert read_recipients(str(lines)) == [EXAMPLE_RECIPIENT] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello nobody", "another or an invalid key"),
        (EXAMPLE_RECIPIENT[:-1] + "q", "another or an invalid key"),
        (EXAMPLE_IDENTITY, "a secret key; age-keygen -y"),
        (EXAMPLE_IDENTITY.lower(), "a secret key; age-keygen -y"),
        ("age1pq1" + "q" * 1959, "another or an invalid key"),
        ("age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", "another"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "another or an invalid key"),
    ],
)
def test_other_kinds_are_refused_and_not_shown(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_recipient(text)
    assert text not in str(caught.value)
    file = tmp_path / "keys"
    file.write_text(f"# first line\n{text}\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        if text.upper() != EXAMPLE_IDENTITY:
            with pytest.raises(UsageError, match="line 2: ") as caught:
                read(str(file))
            assert text not in str(caught.value)


def test_a_file_without_keys_is_told(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# nothing\n\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        with pytest.raises(UsageError, match="found none"):
            read(str(tmp_path / "keys"))
