"""``binx diff``: what two servers' logs have in common, and what not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from binx.cli.declaration import OUTPUT, Example, FilePath, argument, command, option
from binx.cli.options import COUNT, KEYS, NO_CHECKSUMS, QUIET, SCHEMA, VERBOSE, known_tables
from binx.cli.progress import progress_bar
from binx.cli.selecting import selection_options, understood
from binx.cli.terminal import missing_gtids, say_note, text_output
from binx.errors import ExitCode
from binx.log.inputs import open_chain
from binx.log.selection import Selection
from binx.source.json_text import json_text
from binx.source.wording import counted
from binx.stats.text import number_text, safe_text

if TYPE_CHECKING:
    from binx.event.gtid_set import GtidSet
    from binx.export.diff import Difference, LogDiff, Side

EXAMPLES = (
    Example("whether a replica has the same transactions as its source", "binx diff source/ replica/"),
    Example("by GTIDs only, which is faster", "binx diff --gtids source/ replica/"),
    Example(
        "the replica's errant transactions, for programs",
        "binx diff --gtids --json source/ replica/ | jq -r .only_right.errant",
    ),
)

DETAILS = (
    "A and B are the logs of two servers: each is a log, an .index file, a folder of logs, or a pattern in"
    " quotes. Transactions are matched by GTID. A side lacks a transaction if it is neither in its logs nor"
    " before them, according to PREVIOUS_GTIDS or GTID_LIST of its first log. Transactions that one side"
    " has in its logs and the other had before its first log are reported separately, and their contents"
    " are not compared.",
    "Of the transactions a side lacks, those that it will not receive by waiting are reported separately:"
    " transactions older than others it has from the same server (in MariaDB: the same domain), and all"
    " transactions of a server from which it has none. On a source, such transactions of a replica are"
    " errant.",
    "Transactions that both sides have are compared by their effects: statements, and row changes with"
    " table, operation and values. Times, positions, compression and table numbers may differ. If one side"
    " logs fewer columns of a row (binlog_row_image), this is reported, and the values that both have are"
    " compared. Details are shown for the first differing transactions. Tables with a column type unknown"
    " to binx are listed, and their rows are not compared.",
    "The exit status is 0 if nothing differs, 3 if something differs or was not compared, and 4 if a GTID"
    " given with --gtid is in neither side's logs. With --json, one object is printed: equal, left and"
    " right (files, gtids, before, transactions, anonymous), only_left and only_right (gtids, count,"
    " errant), common, compared, different (gtids, count), differences (gtid, only_images, left, right) and"
    " not_compared (db, table).",
)

_ROWS_SHOWN = 5


@command("diff", examples=EXAMPLES, details=DETAILS)
@argument("left", metavar="A", value=FilePath())
@argument("right", metavar="B", value=FilePath())
@selection_options
@option("--gtids", name="gtids_only", is_flag=True, section=OUTPUT, help="Compare only GTIDs, not contents.")
@option(
    "--show",
    name="most",
    metavar="N",
    value=COUNT,
    default="10",
    show_default=True,
    section=OUTPUT,
    help="Show details of at most N differing transactions.",
)
@SCHEMA
@option("--json", name="as_json", is_flag=True, section=OUTPUT, help="Print one JSON object.")
@NO_CHECKSUMS
@QUIET
@VERBOSE
@KEYS
def diff_command(
    left: str,
    right: str,
    gtids_only: bool,
    most: int,
    as_json: bool,
    selection: Selection,
    schema: str | None,
    no_checksums: bool,
    quiet: bool,
) -> int:
    """Compare the logs of two servers: missing transactions, and transactions with different contents."""
    from binx.export.diff import diff_logs

    catalog, unclear = known_tables(schema)
    if not quiet:
        for line in [*understood(selection), *unclear]:
            say_note(line)
    with (
        text_output(plain=as_json) as output,
        progress_bar("diff", quiet=quiet) as bar,
        open_chain([left], bar.advance) as ours,
        open_chain([right], bar.advance) as theirs,
    ):
        bar.expect(sum(ends.file.size for ends in [*ours, *theirs]))
        found = diff_logs(
            ours,
            theirs,
            selection,
            contents=not gtids_only,
            most=most,
            catalog=catalog,
            verify=not no_checksums,
        )
        bar.close()
        for line in [_document(found)] if as_json else _lines(found, left, right):
            output.line(line)
    absent = missing_gtids(found.missing)
    differs = not found.equal or bool(found.not_compared)
    return ExitCode.LOSSES if differs and absent is ExitCode.DONE else absent


def _document(found: LogDiff) -> str:
    def side(one: Side) -> dict[str, Any]:
        return {
            "files": one.files,
            "gtids": str(one.gtids),
            "before": str(one.before),
            "transactions": one.transactions,
            "anonymous": one.anonymous,
        }

    def only(gtids: GtidSet, errant: GtidSet) -> dict[str, Any]:
        return {"gtids": str(gtids), "count": gtids.count, "errant": str(errant)}

    document = {
        "equal": found.equal,
        "left": side(found.left),
        "right": side(found.right),
        "only_left": only(found.only_left, found.errant_left),
        "only_right": only(found.only_right, found.errant_right),
        "common": found.common,
        "compared": found.compared,
        "different": {"gtids": str(found.different), "count": found.different.count},
        "differences": [
            {"gtid": one.gtid, "only_images": one.only_images, "left": one.left, "right": one.right}
            for one in found.differences
        ],
        "not_compared": [{"db": db, "table": table} for db, table in found.not_compared],
    }
    return json_text(document)


def _lines(found: LogDiff, left: str, right: str) -> Iterator[str]:
    for name, path, side in (("A", left, found.left), ("B", right, found.right)):
        held = f"{counted(side.files, 'log')}, {counted(side.transactions, 'transaction')}"
        yield f"{name}  {safe_text(path)}: {held}"
        if side.anonymous:
            yield f"   {number_text(side.anonymous)} of them without GTID, not compared"
    yield f"in both       {number_text(found.common)}"
    yield from _earlier("B", found.left.gtids & found.right.before)
    yield from _earlier("A", found.right.gtids & found.left.before)
    yield from _lacking("only in A", found.only_left, found.errant_left, "B")
    yield from _lacking("only in B", found.only_right, found.errant_right, "A")
    if not found.compared:
        yield "contents      not compared"
        return
    for db, table in found.not_compared:
        yield f"not compared  {safe_text(db)}.{safe_text(table)}, which has a column of an unknown type"
    yield f"different     {number_text(found.different.count)}"
    for one in found.differences:
        yield from _difference(one)
    left_out = found.different.count - len(found.differences)
    if left_out:
        yield f"  and {number_text(left_out)} more: {found.different}"


def _earlier(name: str, gtids: GtidSet) -> Iterator[str]:
    if gtids:
        yield f"before {name}      {number_text(gtids.count)}"
        yield f"  {gtids}, which {name} had before its first log"


def _lacking(title: str, gtids: GtidSet, errant: GtidSet, other: str) -> Iterator[str]:
    yield f"{title:<14}{number_text(gtids.count)}"
    if gtids:
        yield f"  {gtids}"
    if errant:
        yield f"  {other} will not receive these by waiting: {errant}"


def _difference(one: Difference) -> Iterator[str]:
    if one.only_images:
        yield f"  {one.gtid}: equal in the columns that both have; one side logged more columns"
        return
    yield f"  {one.gtid}"
    for sign, rows in (("A", one.left), ("B", one.right)):
        for row in rows[:_ROWS_SHOWN]:
            yield f"    {sign}  {safe_text(json.dumps(row, ensure_ascii=False))}"
        if len(rows) > _ROWS_SHOWN:
            yield f"    {sign}  and {number_text(len(rows) - _ROWS_SHOWN)} more"
