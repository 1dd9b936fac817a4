"""Charts in SVG: bars over time, and the small bars of tables; and the markup that the page is made of.

It is well-formed as HTML and as XML, and no text from a log can become markup.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from datetime import tzinfo

from binx.stats.figures import Burst, Histogram
from binx.stats.text import bytes_text, number_text, period_text, safe_text, second_text

_WIDTH, _HEIGHT = 1040, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 22, 22
_LABELS = 6
_DAY = 86_400
_METER = 1_000
_LEAST = 1.0


def time_charts(histogram: Histogram, bursts: Sequence[Burst], zone: tzinfo) -> Markup:
    """Bytes and transactions over time, bursts in a colour of their own."""
    return joined(
        _over_time(
            "Bytes", [one.bytes for one in histogram.buckets], bytes_text, histogram, bursts, zone, _byte_step
        ),
        _over_time(
            "Transactions",
            [one.transactions for one in histogram.buckets],
            number_text,
            histogram,
            bursts,
            zone,
            _number_step,
        ),
    )


def meter(value: int, largest: int) -> Markup:
    """A bar as long as a value is, compared with the largest of its column."""
    width = value / largest * _METER if largest else 0.0
    return _small(
        element("rect", class_="track", width=_METER, height=12, rx=3),
        element("rect", class_="bytes", width=max(width, _LEAST) if value else 0, height=12, rx=3),
    )


def mixture(inserts: int, updates: int, deletes: int) -> Markup:
    """How the row changes divide into the three sorts, as one bar."""
    whole = inserts + updates + deletes
    parts, begin = [], 0.0
    for name, count in (("insert", inserts), ("update", updates), ("delete", deletes)):
        width = count / whole * _METER if whole else 0.0
        parts.append(element("rect", class_=name, x=begin, width=width, height=12))
        begin += width
    return _small(*parts)


def _small(*parts: Markup) -> Markup:
    # Its width is the column's, whatever that is.
    return element("svg", *parts, viewBox=f"0 0 {_METER} 12", preserveAspectRatio="none", aria_hidden="true")


def _over_time(
    title: str,
    values: Sequence[int],
    text_of: Callable[[int], str],
    histogram: Histogram,
    bursts: Sequence[Burst],
    zone: tzinfo,
    step_of: Callable[[int], int],
) -> Markup:
    step = step_of(max(values))
    top = -(-max(values) // step) * step
    room = _HEIGHT - _TOP - _BOTTOM
    wide = (_WIDTH - _LEFT - _RIGHT) / len(values)
    parts = [
        element("text", f"{title}, each {period_text(histogram.bucket_seconds)}", class_="title", x=0, y=12)
    ]
    for level in range(0, top + 1, step):
        y = _TOP + room - room * level / top
        parts.append(element("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(element("text", text_of(level), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    for place, (bucket, value) in enumerate(zip(histogram.buckets, values, strict=True)):
        if not value:
            continue
        height = max(room * value / top, _LEAST)
        burst = any(one.start <= bucket.start < one.end for one in bursts)
        tip = f"{second_text(bucket.start, zone)}: {text_of(value)}"
        parts.append(
            element(
                "g",
                element("title", tip),
                element(
                    "rect",
                    class_="burst" if burst else "bytes",
                    x=_LEFT + wide * place,
                    y=_TOP + room - height,
                    width=max(wide - min(1.0, wide / 4), 0.5),
                    height=height,
                ),
            )
        )
    parts += _time_labels(histogram, wide, zone)
    return element(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"{title} over time",
    )


def _time_labels(histogram: Histogram, wide: float, zone: tzinfo) -> list[Markup]:
    """A few times below the bars: dates where the spans are long, else times of day."""
    count = len(histogram.buckets)
    every = max(-(-count // _LABELS), 1)
    whole = count * histogram.bucket_seconds
    labels = []
    for place in range(0, count, every):
        text = second_text(histogram.buckets[place].start, zone)
        if whole > 60 * _DAY:
            text = text[:10]
        elif whole > _DAY:
            text = text[5:16]
        elif place:
            text = text[11:]
        x = _LEFT + wide * place
        labels.append(
            element("line", class_="grid", x1=x, x2=x, y1=_HEIGHT - _BOTTOM, y2=_HEIGHT - _BOTTOM + 4)
        )
        labels.append(element("text", text, x=x, y=_HEIGHT - 5))
    return labels


def _number_step(largest: int) -> int:
    """A round number of which two to five make up the largest."""
    unit = 1
    while unit * 10 <= largest:
        unit *= 10
    for factor in (1, 2, 5, 10):
        step = max(unit * factor // 5, 1)
        if largest <= 4 * step:
            return step
    return unit * 5


def _byte_step(largest: int) -> int:
    """The same in binary units."""
    unit = 1
    while unit * 1024 <= largest:
        unit *= 1024
    return _number_step(-(-largest // unit)) * unit


_VOID = frozenset({"meta", "rect", "line", "col"})


class Markup(str):
    """A text that is markup already; all other texts are escaped."""

    __slots__ = ()


Child = str | int | None
"""What an element contains: markup, text, a number, or nothing."""


def escaped(child: Child) -> Markup:
    """A child as markup; what is invisible in a text, and what XML cannot hold, becomes visible escapes."""
    if isinstance(child, Markup):
        return child
    return Markup("" if child is None else html.escape(safe_text(str(child))))


def element(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element.

    Args:
        name: of the element.
        children: what is in it.
        attributes: by name, with ``_`` for a hyphen and one at the end of Python's own words (``class_``);
            None leaves one out.
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(map(escaped, children))}</{name}>")


def joined(*children: Child) -> Markup:
    """Several children one after another."""
    return Markup("".join(map(escaped, children)))


def _number(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
