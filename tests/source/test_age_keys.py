"""The keys of age files: what is taken, how the rest is called, and that nothing shows a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binx.errors import SourceError, UsageError
from binx.source.age_header import Stanza
from binx.source.age_keys import given_identities, parse_recipient, read_recipients
from binx.source.age_primitives import derived, shared_secret
from tests.source.ages import EXAMPLE_IDENTITY, EXAMPLE_RECIPIENT, make_key, new_identity

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF7ZuYVjHvYXtNAdAWSXPzbcKnTJpBLjEoOkNPEjKyLh user@host"


def test_the_standard_s_example(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(EXAMPLE_IDENTITY)
    (identity,) = given_identities([str(tmp_path / "key")]).found
    assert (identity.secret, identity.public) == (b"B" * 32, parse_recipient(EXAMPLE_RECIPIENT).public)
    assert parse_recipient(EXAMPLE_RECIPIENT).text == EXAMPLE_RECIPIENT


def test_wrapping_is_as_the_standard_says() -> None:
    """What the identity derives is what the recipient does, from either side of one exchange."""
    identities, recipient = new_identity()
    (identity,) = identities.found
    stanza = recipient.wrap(bytes(range(16)))
    assert stanza.kind == "X25519"
    assert decrypted_by_hand(identity.secret, identity.public, stanza) == bytes(range(16))


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
    assert repr(identity.secret)[2:10] not in repr(identities) + repr(identity)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="absent"):
        given_identities([str(tmp_path / "absent")])
    with pytest.raises(SourceError, match="absent"):
        read_recipients(str(tmp_path / "absent"))


def test_recipients_are_read_as_age_does(tmp_path: Path) -> None:
    lines = tmp_path / "recipients"
    lines.write_text(f"# backup\n\n{EXAMPLE_RECIPIENT}\r\n  {EXAMPLE_RECIPIENT}\n")
    assert [one.text for one in read_recipients(str(lines))] == [EXAMPLE_RECIPIENT] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "found something else"),
        ("hello", "found something else"),
        (EXAMPLE_RECIPIENT[:-1], "an invalid age1… key"),
        (EXAMPLE_RECIPIENT[:-1] + "q", "an invalid age1… key"),
        (EXAMPLE_RECIPIENT.upper(), "an invalid age1… key"),
        (EXAMPLE_IDENTITY, "that is the secret key"),
        (EXAMPLE_IDENTITY.lower(), "that is the secret key"),
        ("age1pq1" + "q" * 1959, "post-quantum"),
        ("AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45", "post-quantum"),
        ("age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", "a plugin"),
        ("AGE-PLUGIN-YUBIKEY-1Q9TSVFR", "a plugin"),
        (SSH_KEY, "an SSH or other key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "an SSH or other key"),
        ("-----BEGIN AGE ENCRYPTED FILE-----", "an encrypted file"),
        ("age-encryption.org/v1", "an encrypted file"),
        ("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj8cm5e", "invalid"),
    ],
)
def test_other_kinds_are_called_by_their_names_and_not_shown(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_recipient(text)
    assert len(text) < 10 or text[:-4] not in str(caught.value)
    file = tmp_path / "keys"
    file.write_text(f"# first line\n{text}\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        if text not in (EXAMPLE_IDENTITY, ""):
            with pytest.raises(UsageError, match="line 2: ") as caught:
                read(str(file))
            assert len(text) < 10 or text[:-4] not in str(caught.value)


def test_a_file_without_keys_is_told(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# nothing\n\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        with pytest.raises(UsageError, match="found none"):
            read(str(tmp_path / "keys"))


def test_a_recipient_of_low_order_protects_nothing() -> None:
    from binx.source import bech32

    with pytest.raises(UsageError, match="of low order"):
        parse_recipient(bech32.encode("age", bytes(32)))


def decrypted_by_hand(secret: bytes, public: bytes, stanza: Stanza) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    from binx.source.age_header import decode_base64

    share = decode_base64(stanza.arguments[1].encode())
    wrapping = derived(shared_secret(secret, share), share + public, b"age-encryption.org/v1/X25519")
    return ChaCha20Poly1305(wrapping).decrypt(bytes(12), stanza.body, None)
