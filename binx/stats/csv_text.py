"""A breakdown as CSV: one tidy table, a group a line, as RFC 4180 has it but with line feeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from binx.source.names import printable
from binx.stats.dimensions import MEASURES, Breakdown

_LINES = 1_024


def csv_texts(breakdown: Breakdown, top: int | None = None) -> Iterator[str]:
    """The lines, many at a time; the first one names the columns, and what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*breakdown.columns, *MEASURES])
    for place, group in enumerate(breakdown.largest(top)):
        keys = [printable(key) if isinstance(key, str) else key for key in group.keys]
        writer.writerow([*keys, *group.measures])
        if place % _LINES == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
