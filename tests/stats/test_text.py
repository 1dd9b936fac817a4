"""Numbers, times and names for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.stats.text import (
    bytes_text,
    duration_text,
    fit_text,
    pad_text,
    period_text,
    safe_text,
    tables_text,
    text_width,
    time_text,
    transaction_duration_text,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (10 * 1024, "10.0 KiB"),
        (100 * 1024, "100 KiB"),
        (1023 * 1024, "1.00 MiB"),
        (5 * 1024**3, "5.00 GiB"),
        (2**63 - 1, "8.00 EiB"),
    ],
)
def test_bytes_are_in_binary_units(count: int, text: str) -> None:
    assert bytes_text(count) == text


@given(st.integers(0, 2**63))
def test_bytes_never_take_more_than_three_digits_but_below_a_kibibyte(count: int) -> None:
    number, _ = bytes_text(count).split()
    assert len(number.replace(".", "")) <= (3 if count >= 1024 else 4)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 s"),
        (12, "0.012 ms"),
        (12_345, "12.3 ms"),
        (1_250_000, "1.25 s"),
        (59_990_000, "1 min 00 s"),
        (184_000_000, "3 min 04 s"),
        (7_500_000_000, "2 h 05 min"),
        (273_600_000_000, "3 d 04 h"),
    ],
)
def test_durations_have_at_most_two_units(duration: int, text: str) -> None:
    assert duration_text(duration) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "second"),
        (5, "5 seconds"),
        (60, "minute"),
        (3_600, "hour"),
        (10_800, "3 hours"),
        (1_209_600, "2 weeks"),
    ],
)
def test_periods_are_as_people_say_them(seconds: int, text: str) -> None:
    assert period_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (0, "0–1 s"), (1, "0–2 s"), (59, "58–60 s"), (184, "3 min 04 s")]
)
def test_durations_of_transactions_have_whole_seconds(seconds: int | None, text: str) -> None:
    assert transaction_duration_text(seconds) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01 00:00:00"),
        (1_795_254_553_750_000, "2026-11-21 09:49:13.750000"),
        (1_795_254_553_000_001, "2026-11-21 09:49:13.000001"),
        (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
        (2**62, "@4611686018427"),
    ],
)
def test_times_are_in_utc_with_all_digits_of_a_fraction(moment: int, text: str) -> None:
    assert time_text(moment) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders", "orders"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\nb\tc", r"a\x0ab\x09c"),
        ("\u202eorders", r"\u202eorders"),
        ("\udcff", r"\udcff"),
        ("\U000e0001", r"\U000e0001"),
        ("Bestellungen für Käufer", "Bestellungen für Käufer"),
        ("注文", "注文"),
    ],
)
def test_what_is_invisible_is_shown_by_its_code(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@given(st.text())
def test_safe_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in safe_text(text))


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("注文", 4), ("e\u0301", 1), ("ﾊﾝ", 2), ("für", 3)])
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, width: int) -> None:
    assert text_width(text) == width


@given(st.text().map(safe_text), st.integers(0, 20))
def test_a_text_that_is_fitted_never_takes_more_columns(text: str, width: int) -> None:
    assert text_width(fit_text(text, width)) <= width
    if text_width(text) <= width:
        assert fit_text(text, width) == text


def test_what_was_cut_off_is_reported_by_an_ellipsis() -> None:
    assert fit_text("customers", 5) == "cust\N{HORIZONTAL ELLIPSIS}"
    assert fit_text("注文明細", 4) == "注\N{HORIZONTAL ELLIPSIS}"


def test_padding_counts_columns() -> None:
    assert pad_text("注", 4) == "注  "
    assert pad_text("12", 4, right=True) == "  12"


def test_changes_of_tables_are_signs_and_numbers() -> None:
    change = {"db": "shop", "table": "orders", "inserts": 3, "updates": 1200, "deletes": 2}
    other = {"db": "shop", "table": "a\x1bb", "inserts": 0, "updates": 1, "deletes": 0}
    assert tables_text([change, other]) == r"shop.orders +3 ~1,200 -2, shop.a\x1bb ~1"
    assert tables_text(None) == ""
