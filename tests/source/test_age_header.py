"""The header of age files: one text for one meaning, and nothing taken that the grammar does not allow."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import DamagedError, EncryptedError, TruncatedError
from binx.source.age_header import (
    LARGEST_HEADER,
    AgeHeader,
    Stanza,
    decode_base64,
    encode_base64,
    encode_header,
    parse_header,
)
from tests.log.memory import Bytes
from tests.source.ages import new_identity

ARGUMENTS = st.lists(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
    min_size=1,
    max_size=4,
)
STANZAS = st.builds(
    lambda arguments, body: Stanza(tuple(arguments), body), ARGUMENTS, st.binary(max_size=200)
)
KEY = bytes(range(16))
MAC = b"--- " + b"A" * 43 + b"\n"
VERSION = b"age-encryption.org/v1\n"


def parse(data: bytes) -> AgeHeader:
    return parse_header(Bytes(data, "file.age"))


@settings(deadline=None)
@given(st.lists(STANZAS, min_size=1, max_size=5), st.binary(max_size=50))
def test_what_is_written_reads_as_it_was(stanzas: list[Stanza], behind: bytes) -> None:
    text = encode_header(stanzas, KEY)
    found = parse(text + behind)
    assert (found.stanzas, found.size) == (tuple(stanzas), len(text))
    assert found.is_made_with(KEY)
    assert not found.is_made_with(bytes(16))


@given(st.binary(max_size=100))
def test_base64_has_one_form(data: bytes) -> None:
    text = encode_base64(data)
    assert decode_base64(text) == data
    for other in (text + b"=", text + b"\n", b" " + text, text.replace(b"A", b"-", 1) + b"-"):
        with pytest.raises(ValueError, match="base64"):
            decode_base64(other)


@pytest.mark.parametrize("size", [0, 46, 47, 48, 49, 95, 96, 97])
def test_bodies_around_the_length_of_a_line(size: int) -> None:
    """48 bytes fill a line, behind which an empty one has to stand."""
    stanza = Stanza(("kind",), os.urandom(size))
    text = encode_header([stanza], KEY)
    lines = text.split(b"\n")[2:-2]
    assert all(len(line) == 64 for line in lines[:-1])
    assert len(lines[-1]) < 64
    assert parse(text).stanzas == (stanza,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"age-encryption.org/v2\n", "found age-encryption.org/v2"),
        (b"age-encryption.org/v1\r\n", "version 1"),
        (b"age-\x1b[2Jfile\n", r"\\x1b"),
        (VERSION + MAC, "no such"),
        (VERSION + b"-> \n\n" + MAC, "what kind"),
        (VERSION + b"->  X\n\n" + MAC, "what kind"),
        (VERSION + b"-> X \n\n" + MAC, "what kind"),
        (VERSION + b"-> X\x7f\n\n" + MAC, "what kind"),
        (VERSION + b"-> X\r\n\n" + MAC, "what kind"),
        (VERSION + b"-> X\n" + MAC, "base64"),
        (VERSION + b"-> X\nA\n" + MAC, "base64"),
        (VERSION + b"-> X\nAB\n" + MAC, "only form"),
        (VERSION + b"-> X\nAA==\n" + MAC, "base64"),
        (VERSION + b"-> X\n" + b"A" * 65 + b"\n\n" + MAC, "at most 64"),
        (VERSION + b"-> X\n" + b"A" * 64 + b"\n" + MAC, "base64"),
        (VERSION + b"-> X\nAA\nAA\n" + MAC, "no such"),
        (VERSION + b"-> X\n\n---" + b"A" * 43 + b"\n", "no such"),
        (VERSION + b"-> X\n\n--- " + b"A" * 42 + b"\n", "no such"),
        (VERSION + b"-> X\n\n--- " + b"A" * 42 + b"B\n", "only form"),
        (VERSION + b"-> X\n\n--- " + b"A" * 43 + b" \n", "no such"),
        (VERSION + b"-> X\n\n--- " + b"A" * 43 + b"\r\n", "no such"),
    ],
)
def test_what_the_grammar_does_not_allow_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(DamagedError, match=says) as caught:
        parse(text + bytes(100))
    assert caught.value.path == "file.age"
    assert "\x1b" not in str(caught.value)


def test_each_cut_is_met() -> None:
    text = encode_header([Stanza(("X25519", "share"), bytes(100))], KEY)
    for size in range(len(text)):
        with pytest.raises(TruncatedError):
            parse(text[:size])


def test_a_header_without_an_end_is_read_up_to_a_limit() -> None:
    for begin, filling in ((b"", b"-> X\n\n"), (b"-> X\n", b"A" * 64 + b"\n"), (b"-> ", b"X" * 997)):
        with pytest.raises(DamagedError, match=f"within {LARGEST_HEADER} bytes"):
            parse(VERSION + begin + filling * (2 * LARGEST_HEADER // len(filling)))


def test_as_many_recipients_as_a_header_holds_are_no_load() -> None:
    identities, recipient = new_identity()
    wrapped = recipient.wrap(KEY)
    others = [Stanza((f"kind{number}", "x"), b"") for number in range(10_000)]
    header = parse(encode_header([*others, wrapped], KEY))
    assert identities.file_key(header, "file.age") == KEY


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_header_or_an_error(data: bytes) -> None:
    identities, _ = new_identity()
    for text in (data, VERSION + data, VERSION + b"-> X25519 " + data):
        with suppress(DamagedError, EncryptedError):
            identities.file_key(parse(text), "file.age")
