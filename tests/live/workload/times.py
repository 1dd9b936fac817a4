"""Columns of times, with the values that only MySQL and MariaDB have."""

from __future__ import annotations

from random import Random

from tests.live.workload.kind import Kind
from tests.live.workload.texts import Spelling


def any_date(random: Random, _: bool) -> Kind:
    def literal(values: Random, spelling: Spelling) -> str:
        odd = values.choice(
            ("0000-00-00", "2024-00-00", "9999-12-31", "1000-01-01", "0001-01-01", "2024-02-29")
        )
        return spelling.text(odd if values.random() < 0.3 else random_day(values))

    return Kind("DATE", literal)


def date_key(_: Random, __: bool) -> Kind:
    return Kind("DATE", lambda values, spelling: spelling.text(random_day(values)))


def random_day(random: Random) -> str:
    return f"{random.randint(1000, 9999)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def random_clock(random: Random, hours: int) -> str:
    return f"{random.randint(0, hours):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def _fraction(random: Random) -> tuple[int, str]:
    digits = random.randint(0, 6)
    return digits, f"({digits})" if digits or random.random() < 0.3 else ""


def any_time(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        part = (
            f".{values.choice((0, 1, 10**digits - 1, values.randrange(10**digits))):0{digits}}"
            if digits
            else ""
        )
        text = values.choice(
            ("-838:59:59", "838:59:59", f"-00:00:00{part}", random_clock(values, 838) + part)
        )
        return spelling.text(values.choice(("", "-")) + text.lstrip("-"))

    return Kind(f"TIME{argument}", literal)


def any_datetime(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        part = f".{values.randrange(10**digits):0{digits}}" if digits else ""
        odd = values.choice(("0000-00-00", "2024-05-00 01:02:03", "9999-12-31 23:59:59", "0001-01-01"))
        return spelling.text(
            odd if values.random() < 0.2 else f"{random_day(values)} {random_clock(values, 23)}{part}"
        )

    return Kind(f"DATETIME{argument}", literal)


def any_timestamp(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        if values.random() < 0.15:
            return values.choice(("'0000-00-00'", "'2038-01-18 00:00:00'", "'1970-01-03 00:00:01'"))
        part = f".{values.randrange(10**digits):0{digits}}" if digits else ""
        day = f"{values.randint(1971, 2037)}-{values.randint(1, 12):02}-{values.randint(1, 28):02}"
        return spelling.text(f"{day} {random_clock(values, 23)}{part}")

    return Kind(f"TIMESTAMP{argument}", literal)


def any_year(_: Random, __: bool) -> Kind:
    return Kind("YEAR", lambda values, _: str(values.choice((0, 1901, 2155, values.randint(1901, 2155)))))
