"""Figures as one HTML page that needs nothing else: no scripts, no other files, no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from binx import __version__
from binx.log.selection.moments import zone_name
from binx.source.wording import counted
from binx.stats.charts import Child, Markup, element, joined, meter, mixture, time_charts
from binx.stats.figures import Statistics
from binx.stats.sections import BARS, Section, breakdown_section, sections
from binx.stats.text import bytes_text, duration_text, number_text, second_text

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NAMES_SHOWN = 3
_CHARACTERS = 400
_CHANGES = ("Inserts", "Updates", "Deletes")
_LEGEND = {"insert": "inserts", "update": "updates", "delete": "deletes"}


def html_page(figures: Statistics, *, top: int = 10, zone: tzinfo = UTC) -> str:
    """One page with all figures: charts inline, no scripts, nothing from elsewhere.

    The same figures give the same page. It is well-formed XML too.
    """
    title = f"Binary logs: {_files(figures)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        element("h1", title),
        *_about(figures, zone),
        element("div", *_tiles(figures), class_="tiles"),
        _warnings(figures),
        *_tables(figures, top, zone),
        element("footer", f"binx {__version__}; times are those of {zone_name(zone)}"),
    )
    page = element("html", head, body, lang="en", xmlns="http://www.w3.org/1999/xhtml")
    return f"<!DOCTYPE html>\n{page}\n"


def _files(figures: Statistics) -> str:
    names = [file.name for file in figures.files]
    if len(names) <= _NAMES_SHOWN:
        return ", ".join(names) or "none"
    return f"{names[0]} to {names[-1]}, {len(names):,} files"


def _about(figures: Statistics, zone: tzinfo) -> Iterator[Markup]:
    servers = dict.fromkeys(
        f"{file.flavour} {file.server_version}, server id {file.server_id}" for file in figures.files
    )
    shown = list(servers)[:_NAMES_SHOWN]
    more = len(servers) - len(shown)
    yield element("p", "; ".join(shown) + (f" and {more:,} more" if more else ""), class_="soft")
    if figures.first is not None and figures.last is not None:
        first, last = (second_text(point.commit_timestamp, zone) for point in (figures.first, figures.last))
        yield element("p", f"From {first} to {last} ({zone_name(zone)})", class_="soft")
    if figures.selection:
        asked = "; ".join(f"{name}: {value}" for name, value in figures.selection.items())
        yield element("p", f"Only transactions with {asked}", class_="soft")
    if figures.quick:
        yield element("p", "Quick overview: rows, tables and event types were not read.", class_="soft")


def _tiles(figures: Statistics) -> Iterator[Markup]:
    yield _tile(bytes_text(figures.bytes), f"in {counted(len(figures.files), 'file')}")
    yield _tile(number_text(figures.transactions), "transactions")
    if figures.rows is not None and figures.tables is not None:
        yield _tile(number_text(figures.rows), f"row changes in {counted(len(figures.tables), 'table')}")
    if figures.first is not None and figures.last is not None:
        span = max(figures.last.commit_timestamp - figures.first.commit_timestamp, 0)
        yield _tile(duration_text(span), "from first to last commit")
    if figures.largest:
        yield _tile(bytes_text(figures.largest[0].bytes), "largest transaction")
    if figures.selected_bytes:
        yield _tile(f"{figures.compression.bytes / figures.selected_bytes:.1%}", "in compressed transactions")
    if figures.bytes:
        yield _tile(f"{figures.checksummed_bytes / figures.bytes:.1%}", "with checksums")


def _tile(value: str, label: str) -> Markup:
    return element("div", element("b", value), element("span", label), class_="tile")


def _warnings(figures: Statistics) -> Markup:
    texts = [finding.message for finding in figures.warnings]
    texts += [
        f"too many {what} to count them all; those with the most bytes were kept"
        for what in figures.incomplete
    ]
    if not texts:
        return joined()
    items = [element("li", text) for text in texts]
    return element("section", element("h2", "Warnings"), element("ul", *items), class_="warnings")


def _tables(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Markup]:
    """The charts and the tables that a terminal has too."""
    if figures.breakdown is not None:
        yield _table(breakdown_section(figures.breakdown, top, zone))
    if figures.histogram is not None:
        legend = _legend({"burst": "bursts: over four times the usual bytes"}) if figures.bursts else None
        content = joined(legend, time_charts(figures.histogram, figures.bursts, zone))
        yield element("section", element("h2", f"Over time ({zone_name(zone)})"), content)
    yield from map(_table, sections(figures, top, zone))


def _table(section: Section) -> Markup:
    """A table; sizes have a bar beside them, and row changes one of how they divide."""
    titles = [column.title for column in section.columns]
    changes = [titles.index(name) for name in _CHANGES] if set(_CHANGES) <= set(titles) else []
    sizes = titles.index("Bytes") if "Bytes" in titles else None
    has_bars = any(column.form.kind == BARS for column in section.columns)
    if has_bars or len(section.rows) < 2 or sizes is None:
        sizes = None
    largest = 0 if sizes is None else max(row[sizes] for row in section.rows)

    def cells(row: Sequence[Any]) -> Iterator[Markup]:
        for place, (column, value) in enumerate(zip(section.columns, row, strict=True)):
            if column.form.kind == BARS:
                shown: Child = meter(value.value, value.largest)
            else:
                shown = "–" if value is None else _shortened(column.form.people(value))
            yield element("td", shown, class_=column.form.kind)
            if place == sizes:
                yield element("td", meter(value, largest), class_=BARS)
        if changes:
            yield element("td", mixture(*(row[place] or 0 for place in changes)), class_=BARS)

    heads = []
    for place, column in enumerate(section.columns):
        heads.append(element("th", column.title, class_=column.form.kind))
        heads += [element("th", class_=BARS)] if place == sizes else []
    heads += [element("th", "Mix", class_=BARS)] if changes else []
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *(element("tr", *cells(row)) for row in section.rows)),
    )
    content = joined(_legend(_LEGEND) if changes else None, table)
    return element("section", element("h2", section.title), content)


def _legend(names: Mapping[str, str]) -> Markup:
    """What the colours of the charts mean, by their classes."""
    keys = (element("span", element("i", class_=name), text) for name, text in names.items())
    return element("p", *keys, class_="legend")


def _shortened(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


STYLE = """
:root { color-scheme: light; --page: #f9f9f7; --card: #ffffff; --ink: #16150f; --soft: #5c5b55;
  --line: #e3e2dc; --bytes: #2a78d6; --burst: #d95926; --insert: #2a78d6; --update: #d99a00;
  --delete: #c93a3a; --note: #fdf4dc; --edge: #d99a00; --track: #efeee9; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --page: #111110; --card: #1b1b19;
  --ink: #f3f2ec; --soft: #b0aea5; --line: #33322e; --bytes: #3987e5; --burst: #e2703f; --insert: #3987e5;
  --update: #c98500; --delete: #e66767; --note: #2a2415; --edge: #c98500; --track: #292825; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 24px 40px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px;
  margin: 20px 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-weight: 600; }
.tile span { color: var(--soft); font-size: 13px; }
section { padding: 16px 18px; margin: 0 0 16px; overflow-x: auto; }
section.warnings { background: var(--note); border-color: var(--edge); }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li { margin: 0 0 4px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--line);
  padding: 3px 12px 5px 0; white-space: nowrap; }
td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.name { overflow-wrap: anywhere; min-width: 9em; }
code { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere;
  white-space: pre-wrap; }
.meter { width: 22%; min-width: 110px; }
.meter svg { display: block; width: 100%; height: 12px; margin-top: 5px; }
.legend { display: flex; gap: 16px; font-size: 13px; color: var(--soft); margin: 0 0 8px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.chart { display: block; width: 100%; min-width: 640px; height: auto; margin-bottom: 6px; }
.chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; }
.bytes { fill: var(--bytes); } .burst { fill: var(--burst); background: var(--burst); }
.track { fill: var(--track); }
.insert { fill: var(--insert); background: var(--insert); } .update { fill: var(--update);
  background: var(--update); } .delete { fill: var(--delete); background: var(--delete); }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; }
@media (max-width: 760px) { body { padding: 16px 12px; } }
@media print { @page { margin: 14mm 12mm; } body { max-width: none; padding: 0; font-size: 11px;
    --page: #ffffff; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } table, code { font-size: 10px; }
  h1 { font-size: 20px; } h2 { font-size: 13px; break-after: avoid; } .tile b { font-size: 16px; }
  tr, .tile, .chart { break-inside: avoid; } thead { display: table-header-group; }
  section { overflow: visible; padding: 10px 12px; margin-bottom: 10px; } .chart { min-width: 0; }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 8px; margin: 12px 0; }
  .tile span, .legend, footer { font-size: 10px; } .meter { min-width: 80px; }
  .meter svg { height: 9px; margin-top: 3px; } }
"""
"""Without ``<`` and ``&``, so that it is the same in HTML and in XML."""
