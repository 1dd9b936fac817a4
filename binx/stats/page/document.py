"""The page: what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo

from binx import __version__
from binx.log.selection.zones import zone_name
from binx.source.wording import counted
from binx.stats.figures import Statistics
from binx.stats.page.markup import Markup, element, joined
from binx.stats.page.sections import all_sections
from binx.stats.page.style import STYLE
from binx.stats.text import bytes_text, duration_text, number_text, second_text

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NAMES_SHOWN = 3


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
        *all_sections(figures, top, zone),
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
