"""Character sets, against what servers answer.

``make_charsets.py`` beside this file wrote the table of all their characters.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.event import charset as charset_module
from binx.event.charset import charset, collation_to_charset
from binx.event.collation import collation_name

CHARACTERS = [
    (name, bytes.fromhex(data), bytes.fromhex(text).decode(), others)
    for name, data, text, others in (
        line.split("\t")
        for line in lzma.decompress(Path(__file__).with_name("charsets.tsv.xz").read_bytes())
        .decode()
        .splitlines()
    )
]


def test_all_character_sets_of_mysql_and_mariadb_are_in_the_table() -> None:
    assert len(CHARACTERS) == 40
    assert sum(len(text) for _, _, text, _ in CHARACTERS) > 130_000


@pytest.mark.parametrize(
    ("name", "data", "text", "others"), CHARACTERS, ids=[name for name, *_ in CHARACTERS]
)
def test_every_character_is_the_one_that_the_servers_give(
    name: str, data: bytes, text: str, others: str
) -> None:
    known = charset(name)
    assert known is not None
    assert known.decode_strictly(data) == text
    assert known.decode(data) == text
    assert known.storable(text) == text
    odd = [tuple(map(bytes.fromhex, pair.split(">"))) for pair in others.split(",") if pair]
    assert all(known.encode(known.decode(read)) == other for read, other in odd)
    assert [known.is_written_back(known.decode(read)) for read, _ in odd] == [False] * len(odd)
    if not odd:
        assert known.encode(text) == data


@pytest.mark.parametrize(
    ("number", "mysql", "mariadb", "name"),
    [
        (8, "latin1_swedish_ci", "latin1_swedish_ci", "latin1"),
        (33, "utf8mb3_general_ci", "utf8mb3_general_ci", "utf8mb3"),
        (45, "utf8mb4_general_ci", "utf8mb4_general_ci", "utf8mb4"),
        (63, "binary", "binary", "binary"),
        (122, "utf16_croatian_ci", "utf16_croatian_mysql561_ci", "utf16"),
        (245, "utf8mb4_croatian_ci", "utf8mb4_croatian_mysql561_ci", "utf8mb4"),
        (250, "gb18030_unicode_520_ci", "gb18030_unicode_520_ci", "gb18030"),
        (255, "utf8mb4_0900_ai_ci", "utf8mb4_0900_ai_ci", "utf8mb4"),
        (309, "utf8mb4_0900_bin", "utf8mb4_0900_bin", "utf8mb4"),
        (323, "utf8mb4_mn_cyrl_0900_as_cs", "utf8mb4_mn_cyrl_0900_as_cs", "utf8mb4"),
        (608, "utf8mb4_croatian_ci", "utf8mb4_croatian_ci", "utf8mb4"),
        (1069, "utf8mb4_general_nopad_ci", "utf8mb4_general_nopad_ci", "utf8mb4"),
        (1070, "utf8mb4_nopad_bin", "utf8mb4_nopad_bin", "utf8mb4"),
        (2048, "utf8mb3_uca1400_ai_ci", "utf8mb3_uca1400_ai_ci", "utf8mb3"),
        (2304, "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4"),
        (3271, "utf32_uca1400_croatian_nopad_as_cs", "utf32_uca1400_croatian_nopad_as_cs", "utf32"),
    ],
)
def test_numbers_have_the_names_that_servers_list(number: int, mysql: str, mariadb: str, name: str) -> None:
    """Rows of INFORMATION_SCHEMA.COLLATIONS of MySQL 9.7, and of MariaDB 10.11's full names."""
    assert collation_name(number) == mysql
    assert collation_name(number, mariadb=True) == mariadb
    known = collation_to_charset(number)
    assert known is not None
    assert known.name == name


@pytest.mark.parametrize("number", [0, 17, 100, 272, 324, 1024, 2048 + (21 << 3), 3328, 2**32 - 1])
def test_numbers_that_no_server_has_are_unknown(number: int) -> None:
    assert collation_name(number) is None
    assert collation_to_charset(number) is None


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("latin1", "80 81 8d e9", "€\x81\x8dé"),
        ("utf8mb4", "f0 9f 98 80", "😀"),
        ("utf8mb3", "e2 82 ac", "€"),
        ("ucs2", "20ac", "€"),
        ("utf16", "d83d de00", "😀"),
        ("utf16le", "3dd8 00de", "😀"),
        ("utf32", "0001f600", "😀"),
        ("cp1251", "cff0e8", "При"),
        ("cp866", "8f fc fd", "П\u207f²"),
        ("koi8u", "a4 95", "є•"),
        ("greek", "c1 a1", "\u0391\u02bd"),
        ("hebrew", "e0 af", "א\u203e"),
        ("gbk", "c4e3", "你"),
        ("gb18030", "94 39 fc 36", "😀"),
        ("big5", "a741", "你"),
        ("sjis", "82a0", "あ"),
        ("sjis", "815f", "\\"),
        ("ujis", "a1c0", "\\"),
        ("eucjpms", "a1c1 a1dd", "\uff5e\uff0d"),
        ("gb18030", "a8bc", "\u1e3f"),
        ("cp932", "8740", "①"),
        ("ujis", "a4a2", "あ"),
        ("euckr", "b0a1", "가"),
        ("tis620", "a1", "ก"),
        ("dec8", "a8 d7 dd", "¤ŒŸ"),
        ("swe7", "5b 5c 5d 7b 7c 7d", "ÄÖÅäöå"),
        ("armscii8", "b2 b3 fd", "Աաֆ"),
        ("keybcs2", "80 9b a9", "ČŠř"),
        ("geostd8", "80 c0 fd", "€ა№"),
        ("macce", "8a", "ä"),
        ("hp8", "cc", "ä"),
    ],
)
def test_bytes_are_the_text_that_the_server_makes_of_them(name: str, data: str, text: str) -> None:
    """CONVERT(CONVERT(x'…' USING name) USING utf8mb4) of MySQL 9.7."""
    known = charset(name)
    assert known is not None
    assert known.decode_strictly(bytes.fromhex(data)) == text
    assert known.decode(bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("utf8mb4", b"a\xffb", r"a\xffb"),
        ("ascii", b"a\x80", r"a\x80"),
        ("dec8", b"a\xa6b", r"a\xa6b"),
        ("geostd8", b"\x81", r"\x81"),
        ("ucs2", b"\x00a\x00", r"a\x00"),
        ("eucjpms", b"\xad\xa1\xad\xfda\xf5", "①\\xad\\xfda\\xf5"),
        ("binary", b"ab\xff", r"ab\xff"),
    ],
)
def test_what_is_no_character_is_escaped(name: str, data: bytes, text: str) -> None:
    known = charset(name)
    assert known is not None
    assert known.decode(data) == text
    assert known.decode_strictly(data) is None


@pytest.mark.parametrize(
    ("name", "data", "written_back"),
    [
        ("big5", "a451", False),
        ("big5", "a2cc", False),
        ("big5", "a15a", False),
        ("big5", "a440 41", True),
        ("cp932", "81e0", False),
        ("cp932", "8790", False),
        ("cp932", "ed40", False),
        ("cp932", "82a0 b1 41", True),
        ("ujis", "a1c0", False),
        ("ujis", "a4a2", True),
        ("eucjpms", "adf0", False),
        ("eucjpms", "8fa2f1", False),
        ("eucjpms", "a4a2", True),
        ("gbk", "a2a1", True),
        ("latin1", "80", True),
    ],
)
def test_text_that_a_server_would_store_otherwise_is_known(name: str, data: str, written_back: bool) -> None:
    """Of some characters two sequences of bytes are valid, or none is to the server.

    HEX(CONVERT(CONVERT(x'…' USING name) USING utf8mb4) USING name) of MySQL 9.7 and MariaDB 10.11.
    """
    known = charset(name)
    assert known is not None
    text = known.decode_strictly(bytes.fromhex(data))
    assert text is not None
    assert known.is_written_back(text) is written_back


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("latin1", "é€日", "é€?"),
        ("sjis", "é日\\¥", "?日\\?"),
        ("gbk", "é日", "é日"),
        ("ucs2", "日😀", "日?"),
        ("utf8mb3", "日😀", "日?"),
        ("utf16", "日😀", "日😀"),
        ("big5", "碁ˍ", "碁?"),
        ("cp932", "①\x80", "①?"),
        ("eucjpms", "①～〜", "①～?"),
        ("binary", "é", "é"),
    ],
)
def test_what_a_set_lacks_is_a_question_mark_as_the_servers_convert_it(
    name: str, text: str, stored: str
) -> None:
    """As MySQL 9.7 and MariaDB 10.11 answer ``CONVERT(… USING …)``."""
    known = charset(name)
    assert known is not None
    assert known.storable(text) == stored


def test_utf8_is_an_old_name() -> None:
    assert charset("utf8") == charset("utf8mb3")
    assert charset("klingon") is None


@pytest.mark.parametrize("name", ["latin1", "dec8", "swe7", "armscii8", "keybcs2", "geostd8", "cp1256"])
def test_sets_that_no_codec_matches_have_a_table(name: str) -> None:
    known = charset(name)
    assert known is not None
    assert known.codec is None
    assert known.table is not None
    assert len(known.table) == 256


@given(st.lists(st.binary(max_size=6) | st.text(max_size=4).map(str.encode)).map(b"".join), st.integers(1, 9))
def test_a_long_value_in_pieces_is_what_it_is_at_once(data: bytes, size: int) -> None:
    """Wherever it is cut: within a character, and within bytes that are none."""
    utf8, latin1 = charset("utf8mb4"), charset("latin1")
    assert utf8 is not None
    assert latin1 is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charset_module, "PIECE_BYTES", size)
        assert utf8.to_utf8(data) == utf8.decode(data).encode()
        assert latin1.to_utf8(data) == latin1.decode(data).encode()
