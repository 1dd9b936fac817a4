"""Collation IDs and names of MySQL and MariaDB.

Events identify a character set by the ID of one of its collations. MySQL and
MariaDB agree below 256, except for the Croatian collations, which MariaDB renamed.
From 256 on, MySQL has Unicode 9 collations; MariaDB computes IDs: plus 1024 for
"no pad", and 2048 and up for Unicode 14.

Source: INFORMATION_SCHEMA.COLLATIONS of MySQL 9.7 and
COLLATION_CHARACTER_SET_APPLICABILITY of MariaDB 10.11.
"""

from __future__ import annotations

from functools import cache

_LEGACY = """
    1:big5_chinese_ci 2:latin2_czech_cs 3:dec8_swedish_ci 4:cp850_general_ci 5:latin1_german1_ci
    6:hp8_english_ci 7:koi8r_general_ci 8:latin1_swedish_ci 9:latin2_general_ci 10:swe7_swedish_ci
    11:ascii_general_ci 12:ujis_japanese_ci 13:sjis_japanese_ci 14:cp1251_bulgarian_ci
    15:latin1_danish_ci 16:hebrew_general_ci 18:tis620_thai_ci 19:euckr_korean_ci 20:latin7_estonian_cs
    21:latin2_hungarian_ci 22:koi8u_general_ci 23:cp1251_ukrainian_ci 24:gb2312_chinese_ci
    25:greek_general_ci 26:cp1250_general_ci 27:latin2_croatian_ci 28:gbk_chinese_ci
    29:cp1257_lithuanian_ci 30:latin5_turkish_ci 31:latin1_german2_ci 32:armscii8_general_ci
    33:utf8mb3_general_ci 34:cp1250_czech_cs 35:ucs2_general_ci 36:cp866_general_ci
    37:keybcs2_general_ci 38:macce_general_ci 39:macroman_general_ci 40:cp852_general_ci
    41:latin7_general_ci 42:latin7_general_cs 43:macce_bin 44:cp1250_croatian_ci 45:utf8mb4_general_ci
    46:utf8mb4_bin 47:latin1_bin 48:latin1_general_ci 49:latin1_general_cs 50:cp1251_bin
    51:cp1251_general_ci 52:cp1251_general_cs 53:macroman_bin 54:utf16_general_ci 55:utf16_bin
    56:utf16le_general_ci 57:cp1256_general_ci 58:cp1257_bin 59:cp1257_general_ci 60:utf32_general_ci
    61:utf32_bin 62:utf16le_bin 63:binary 64:armscii8_bin 65:ascii_bin 66:cp1250_bin 67:cp1256_bin
    68:cp866_bin 69:dec8_bin 70:greek_bin 71:hebrew_bin 72:hp8_bin 73:keybcs2_bin 74:koi8r_bin
    75:koi8u_bin 76:utf8mb3_tolower_ci 77:latin2_bin 78:latin5_bin 79:latin7_bin 80:cp850_bin
    81:cp852_bin 82:swe7_bin 83:utf8mb3_bin 84:big5_bin 85:euckr_bin 86:gb2312_bin 87:gbk_bin
    88:sjis_bin 89:tis620_bin 90:ucs2_bin 91:ujis_bin 92:geostd8_general_ci 93:geostd8_bin
    94:latin1_spanish_ci 95:cp932_japanese_ci 96:cp932_bin 97:eucjpms_japanese_ci 98:eucjpms_bin
    99:cp1250_polish_ci
    159:ucs2_general_mysql500_ci 223:utf8mb3_general_mysql500_ci 248:gb18030_chinese_ci 249:gb18030_bin
    250:gb18030_unicode_520_ci
"""

_UNICODE_4 = """
    unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci estonian_ci spanish_ci
    swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci slovak_ci spanish2_ci roman_ci persian_ci
    esperanto_ci hungarian_ci sinhala_ci german2_ci croatian_ci unicode_520_ci vietnamese_ci
"""
_UNICODE_4_FIRST = {"utf16": 101, "ucs2": 128, "utf32": 160, "utf8mb3": 192, "utf8mb4": 224}

_UNICODE_9_FIRST = 255
_UNICODE_9 = """
    0900_ai_ci de_pb_0900_ai_ci is_0900_ai_ci lv_0900_ai_ci ro_0900_ai_ci sl_0900_ai_ci pl_0900_ai_ci
    et_0900_ai_ci es_0900_ai_ci sv_0900_ai_ci tr_0900_ai_ci cs_0900_ai_ci da_0900_ai_ci lt_0900_ai_ci
    sk_0900_ai_ci es_trad_0900_ai_ci la_0900_ai_ci - eo_0900_ai_ci hu_0900_ai_ci hr_0900_ai_ci -
    vi_0900_ai_ci 0900_as_cs de_pb_0900_as_cs is_0900_as_cs lv_0900_as_cs ro_0900_as_cs sl_0900_as_cs
    pl_0900_as_cs et_0900_as_cs es_0900_as_cs sv_0900_as_cs tr_0900_as_cs cs_0900_as_cs da_0900_as_cs
    lt_0900_as_cs sk_0900_as_cs es_trad_0900_as_cs la_0900_as_cs - eo_0900_as_cs hu_0900_as_cs
    hr_0900_as_cs - vi_0900_as_cs - - ja_0900_as_cs ja_0900_as_cs_ks 0900_as_ci ru_0900_ai_ci
    ru_0900_as_cs zh_0900_as_cs 0900_bin nb_0900_ai_ci nb_0900_as_cs nn_0900_ai_ci nn_0900_as_cs
    sr_latn_0900_ai_ci sr_latn_0900_as_cs bs_0900_ai_ci bs_0900_as_cs bg_0900_ai_ci bg_0900_as_cs
    gl_0900_ai_ci gl_0900_as_cs mn_cyrl_0900_ai_ci mn_cyrl_0900_as_cs
"""

_MARIADB_EXTRA = """
    croatian_ci myanmar_ci thai_520_w2
"""
_MARIADB_EXTRA_FIRST = {"utf8mb3": 576, "utf8mb4": 608, "ucs2": 640, "utf16": 672, "utf32": 736}
_MARIADB_CROATIAN = "croatian_mysql561_ci"

_MARIADB_NOPAD_FIRST = 1024
_MARIADB_NOPAD_END = 2048

_MARIADB_UNICODE_14_FIRST = 2048
_MARIADB_UNICODE_14_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
_MARIADB_UNICODE_14 = """
    - icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian
    slovak spanish2 roman persian esperanto hungarian sinhala german2 - - vietnamese croatian
"""
_MARIADB_STRENGTHS = ("ai_ci", "ai_cs", "as_ci", "as_cs")


@cache
def _names() -> dict[int, str]:
    names = {int(number): name for number, name in (item.split(":") for item in _LEGACY.split())}
    for charset, first in _UNICODE_4_FIRST.items():
        names.update((first + index, f"{charset}_{name}") for index, name in enumerate(_UNICODE_4.split()))
    for index, name in enumerate(_UNICODE_9.split()):
        if name != "-":
            names[_UNICODE_9_FIRST + index] = f"utf8mb4_{name}"
    for charset, first in _MARIADB_EXTRA_FIRST.items():
        names.update(
            (first + index, f"{charset}_{name}") for index, name in enumerate(_MARIADB_EXTRA.split())
        )
    return names


def collation_name(number: int, *, mariadb: bool = False) -> str | None:
    """Return the name of collation ``number``, or None if no known server has it.

    Args:
        number: the collation's ID.
        mariadb: whether MariaDB wrote the number; a few names depend on it, but no character set.
    """
    if number >= _MARIADB_UNICODE_14_FIRST:
        return _mariadb_unicode_14(number - _MARIADB_UNICODE_14_FIRST)
    if _MARIADB_NOPAD_FIRST <= number < _MARIADB_NOPAD_END:
        return _mariadb_nopad(number - _MARIADB_NOPAD_FIRST)
    name = _names().get(number)
    charset, _, tail = (name or "").partition("_")
    if mariadb and tail == "croatian_ci" and charset in _UNICODE_4_FIRST and number < _UNICODE_9_FIRST:
        return f"{charset}_{_MARIADB_CROATIAN}"
    return name


def collation_charset(number: int) -> str | None:
    """Return the name of the character set of collation ``number``; None if unknown."""
    name = collation_name(number)
    return None if name is None else name.partition("_")[0]


def _mariadb_nopad(base: int) -> str | None:
    name = _names().get(base)
    head, _, tail = (name or "").rpartition("_")
    return f"{head}_nopad_{tail}" if head else None


def _mariadb_unicode_14(offset: int) -> str | None:
    charset, language, nopad, strength = offset >> 8, offset >> 3 & 31, offset >> 2 & 1, offset & 3
    languages = _MARIADB_UNICODE_14.split()
    if charset >= len(_MARIADB_UNICODE_14_CHARSETS) or language >= len(languages):
        return None
    if language and languages[language] == "-":
        return None
    words = [_MARIADB_UNICODE_14_CHARSETS[charset], "uca1400"]
    words += [languages[language]] if language else []
    words += ["nopad"] if nopad else []
    return "_".join([*words, _MARIADB_STRENGTHS[strength]])
