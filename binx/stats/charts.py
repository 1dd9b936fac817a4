"""Charts of the HTML page, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import NamedTuple

from binx.log.selection.times import zone_offset
from binx.source.wording import shortened
from binx.stats.activity import DAY, HOUR, MINUTE, SECOND, ActivityFigures
from binx.stats.markup import Markup, element
from binx.stats.sections import Record
from binx.stats.text import bytes_text, moment_of, period_text, second_text, time_text

SERIES = 7
"""Number of tables with a colour of their own."""

MARK = "\N{BLACK DOWN-POINTING TRIANGLE}"
"""Marks statements that define tables."""

_WIDTH = 1040
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 22, 22
_LEVELS = 3
_MICROSECONDS = 1_000
_TICKS = 8
_STEPS = (
    *(10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND),
    *(MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY),
)
_LEAST = 1.0
_METER = 1_000
_MARK_WIDTH = 6
_MARK_STATEMENTS = 4
_STATEMENT = 120
_HEAT_COLUMNS = 48
_HEAT_ROW = 18
_HEAT_LEFT = 190
_NAME = 28
_HOURS = 24


class Series(NamedTuple):
    """Values over time, with the class of their colour."""

    name: str
    colour: str
    values: Sequence[int]


class TimeAxis:
    """Where times are in a chart.

    Args:
        first: the beginning, in ms since 1970.
        length: of an interval, in ms.
        count: number of intervals.
    """

    def __init__(self, first: int, length: int, count: int, zone: tzinfo, *, left: int = _LEFT) -> None:
        self.first = first
        self.length = length
        self.count = count
        self.zone = zone
        self.left = left
        self.bar = (_WIDTH - left - _RIGHT) / count

    def x(self, moment: float) -> float:
        """Return where a time in ms is."""
        return self.left + self.bar * (moment - self.first) / self.length

    def text(self, index: int) -> str:
        """Return the beginning of an interval as text."""
        moment = (self.first + index * self.length) * _MICROSECONDS
        return second_text(moment, self.zone) if self.length >= SECOND else time_text(moment, self.zone)[:23]

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield round times of the zone, with their texts; the first, and each midnight, have the date."""
        span = self.count * self.length
        step = next((one for one in _STEPS if span <= _TICKS * one), 0)
        while not step:
            step = -(-span // (_TICKS * 28 * DAY)) * 28 * DAY
        offset = zone_offset(self.zone)(self.first // SECOND)[0] * SECOND
        # Weeks begin on Monday; the first day of 1970 was a Thursday.
        shift = 4 * DAY - offset if step % (7 * DAY) == 0 else -offset
        moment = -(-(self.first - shift) // step) * step + shift
        is_first = True
        while moment <= self.first + span:
            text = time_text(moment * _MICROSECONDS, self.zone)
            date, _, clock = text.partition(" ")
            shown = clock[:5] if step >= MINUTE else clock[:8]
            if step < SECOND:
                shown += f".{moment % SECOND // 10:02d}"[: 2 if step >= SECOND // 10 else 3]
            if step >= DAY:
                shown = date
            elif is_first or clock[:5] == "00:00":
                shown = f"{date[5:]} {shown}"
            yield self.x(moment), shown
            is_first = False
            moment += step

    def labels(self, y: float) -> Iterator[Markup]:
        """Render the ticks below a chart whose plot ends at that height."""
        for x, text in self.ticks():
            yield element("line", class_="grid", x1=x, x2=x, y1=y, y2=y + 4)
            anchor = "end" if x > _WIDTH - 60 else "start" if x < self.left + 30 else "middle"
            yield element("text", text, x=x, y=y + 16, text_anchor=anchor)


def length_text(length: int) -> str:
    """Format the length of an interval, in ms."""
    return period_text(length // SECOND) if length >= SECOND else f"{length} ms"


def number_text(value: int) -> str:
    """Format a count."""
    return f"{value:,}"


def stacked_chart(
    title: str,
    axis: TimeAxis,
    series: Sequence[Series],
    *,
    height: int = 190,
    is_bytes: bool = False,
    marks: Sequence[Record] = (),
    bursts: Sequence[Record] = (),
) -> Markup:
    """Render values over time, one on the other.

    Args:
        marks: statements to mark, with ``commit_timestamp`` and ``sql``.
        bursts: spans of time to lay a band behind.
    """
    text_of: Callable[[int], str] = bytes_text if is_bytes else number_text
    sums = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
    most = max(*sums, 1)
    step = (_byte_step if is_bytes else _number_step)(most)
    top = -(-most // step) * step
    plot = height - _TOP - _BOTTOM
    bottom = _TOP + plot
    parts = [element("text", title, class_="title", x=0, y=12)]
    for burst in bursts:
        begin, end = (axis.x(moment_of(burst[name]) / _MICROSECONDS) for name in ("since", "until"))
        tip = element("title", f"burst: {burst['times_usual']} times the usual bytes")
        parts.append(element("g", tip, _rect("band", begin, _TOP, max(end - begin, _LEAST), plot)))
    for level in range(0, top + 1, step):
        y = bottom - plot * level / top
        parts.append(element("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(element("text", text_of(level), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    width = max(axis.bar - min(1.0, axis.bar / 4), 0.5)
    for index, total in enumerate(sums):
        if not total:
            continue
        lines = [f"{axis.text(index)}: {text_of(total)}"]
        y = float(bottom)
        bars = []
        for one in series:
            if value := one.values[index]:
                tall = max(plot * value / top, _LEAST if len(series) == 1 else 0.0)
                y -= tall
                bars.append(_rect(one.colour, axis.x(axis.first + index * axis.length), y, width, tall))
                lines += [f"{one.name}: {text_of(value)}"] if len(series) > 1 else []
        parts.append(element("g", element("title", "\n".join(lines)), *bars))
    parts += _marks(axis, marks, bottom)
    parts += axis.labels(bottom)
    return _chart(title, height, parts)


def _marks(axis: TimeAxis, marks: Sequence[Record], bottom: float) -> Iterator[Markup]:
    """Render statements as lines with a triangle; those that would overlap are one."""
    places: dict[int, list[Record]] = {}
    for mark in marks:
        x = axis.x(moment_of(mark["commit_timestamp"]) / _MICROSECONDS)
        places.setdefault(round(x / _MARK_WIDTH), []).append(mark)
    for place, statements in places.items():
        x = place * _MARK_WIDTH
        texts = [shortened(one["sql"], _STATEMENT) for one in statements[:_MARK_STATEMENTS]]
        if len(statements) > _MARK_STATEMENTS:
            texts.append(f"and {len(statements) - _MARK_STATEMENTS} more")
        yield element(
            "g",
            element("title", "\n".join(texts)),
            element("line", class_="ddl", x1=x, x2=x, y1=_TOP - 4, y2=bottom),
            element("text", MARK, class_="ddl", x=x, y=_TOP, text_anchor="middle"),
        )


def heat_map(activity: ActivityFigures, rows: int, zone: tzinfo) -> Markup:
    """Render bytes by table and time: the darker, the more.

    Of more than two days, the columns are the hours of the day.
    """
    by_hour = activity.days > 2
    names = [table_text(name) for name in activity.tables[:rows]]
    cells: dict[tuple[int, int], int] = {}
    if by_hour:
        columns, axis = _HOURS, TimeAxis(0, HOUR, _HOURS, zone, left=_HEAT_LEFT)
        cells = {key: size for key, size in activity.hours.items() if key[1] < len(names)}
    else:
        step = -(-len(activity.totals) // _HEAT_COLUMNS)
        columns = -(-len(activity.totals) // step)
        axis = TimeAxis(activity.first, activity.length * step, columns, zone, left=_HEAT_LEFT)
        for (index, table), amount in activity.amounts.items():
            if table < len(names):
                key = index // step, table
                cells[key] = cells.get(key, 0) + amount.bytes
    most = max(cells.values(), default=1) or 1
    height = _TOP + _HEAT_ROW * len(names) + _BOTTOM
    each = "hour of the day" if by_hour else length_text(axis.length)
    title = f"Bytes of row changes by table and {each}"
    parts = [element("text", title, class_="title", x=0, y=12)]
    for number, name in enumerate(names):
        y = _TOP + _HEAT_ROW * number
        shown = name if len(name) <= _NAME else f"{name[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
        parts.append(element("text", shown, x=_HEAT_LEFT - 8, y=y + 13, text_anchor="end"))
        parts.append(_rect("track", _HEAT_LEFT, y, axis.bar * columns, _HEAT_ROW - 2))
    for (column, number), size in sorted(cells.items()):
        when = f"{column:02d}:00" if by_hour else axis.text(column)
        cell = element(
            "rect",
            class_="bytes",
            x=_HEAT_LEFT + axis.bar * column,
            y=_TOP + _HEAT_ROW * number,
            width=max(axis.bar - min(1.0, axis.bar / 4), 0.5),
            height=_HEAT_ROW - 2,
            fill_opacity=0.12 + 0.88 * (size / most) ** 0.5,
        )
        tip = element("title", f"{names[number]}, {when}: {bytes_text(size)}")
        parts.append(element("g", tip, cell))
    bottom = _TOP + _HEAT_ROW * len(names)
    if by_hour:
        for hour in range(0, _HOURS, 3):
            x = _HEAT_LEFT + axis.bar * (hour + 0.5)
            parts.append(element("text", f"{hour:02d}:00", x=x, y=bottom + 14, text_anchor="middle"))
    else:
        parts += axis.labels(bottom)
    return _chart(title, height, parts)


def table_text(name: tuple[str, str] | None) -> str:
    """Return a table's name for a legend."""
    return "other tables" if name is None else ".".join(name)


def meter(value: int, largest: int) -> Markup:
    """Render a bar, scaled to the largest value of its column."""
    width = value / largest * _METER if largest else 0.0
    return element(
        "svg",
        element("rect", class_="track", width=_METER, height=12, rx=3),
        element("rect", class_="bytes", width=max(width, _LEAST) if value else 0, height=12, rx=3),
        viewBox=f"0 0 {_METER} 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _chart(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    size = f"0 0 {_WIDTH} {height}"
    chart = element("svg", *parts, class_="chart", viewBox=size, role="img", aria_label=title)
    return element("div", chart, class_="scroll")


def _rect(colour: str, x: float, y: float, width: float, height: float) -> Markup:
    return element("rect", class_=colour, x=x, y=y, width=width, height=height)


def _number_step(largest: int) -> int:
    """Return a round step, two to five of which make up the largest."""
    unit = 1
    while unit * 10 <= largest:
        unit *= 10
    for factor in (1, 2, 5, 10):
        step = max(unit * factor // 5, 1)
        if largest <= 4 * step:
            return step
    return unit * 5


def _byte_step(largest: int) -> int:
    """Return the same in binary units."""
    unit = 1
    while unit * 1024 <= largest:
        unit *= 1024
    return _number_step(-(-largest // unit)) * unit
