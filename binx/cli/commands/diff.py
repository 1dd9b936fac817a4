"""``binx diff``: compare the logs of two servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from binx.cli.command import COUNT, Example, command, flag, option, parsed
from binx.cli.options import LOOK, Logs, as_json_option, log_options
from binx.cli.selecting import SELECTION, selection_options
from binx.cli.show_text import value_text
from binx.cli.terminal import ending, say_losses, text_output
from binx.errors import ExitCode
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection, wanted_gtids
from binx.report.document import json_line
from binx.report.records import names_of
from binx.source.wording import counted
from binx.stats.text import safe_text

if TYPE_CHECKING:
    from binx.compare.differences import ChangePair, Difference, LogDiff
    from binx.compare.side import ShownChange

EXAMPLES = (
    Example("whether a replica has the same transactions as its source", "binx diff source/ replica/"),
    Example("by GTIDs only, which is faster", "binx diff --gtids source/ replica/"),
    Example(
        "the replica's errant transactions, for programs",
        "binx diff --gtids --json source/ replica/ | jq -r .only_right.errant_gtids",
    ),
)


_TITLE_WIDTH = 18
_CHANGES_SHOWN = 5
_IMAGES = ("before", "after")


@command(
    "diff", examples=EXAMPLES, brief="gtids show gtid since until table db purged-a purged-b tz schema json"
)
@selection_options
@flag("--gtids", "Compare only GTIDs, not contents.", "gtids_only")
@option("--show", "most", type=COUNT, default=10, help="Show details of at most N differing transactions.")
@option(
    "--purged-a SET",
    "purged_left",
    type=parsed(wanted_gtids),
    section=SELECTION,
    help="GTIDs that A has from before its logs, such as its gtid_purged.",
)
@option("--purged-b SET", "purged_right", type=parsed(wanted_gtids), section=SELECTION, help="The same of B.")
@LOOK
@as_json_option("Print one JSON object.")
@log_options(schema=True, sides=True)
def diff_command(
    logs: Logs,
    selection: Selection,
    gtids_only: bool,
    most: int,
    purged_left: GtidSet | None,
    purged_right: GtidSet | None,
    as_json: bool,
) -> ExitCode:
    """Compare the logs of two servers: missing transactions, and transactions with different contents."""
    from binx.compare.differences import diff_logs

    left, right = logs.paths
    with (
        text_output(plain=as_json) as output,
        logs.opened("diff", selection, paths=[left], warns=False) as (ours, bar),
        open_chain([right], bar.advance, on_damage=logs.on_damage) as theirs,
    ):
        bar.expect(sum(ends.file.size for ends in [*ours, *theirs]))
        logs.note_copies([ends.file for ends in theirs])
        found = diff_logs(
            ours,
            theirs,
            selection,
            contents=not gtids_only,
            most=most,
            purged=(purged_left or GtidSet(), purged_right or GtidSet()),
            catalog=logs.known_tables([*ours, *theirs]),
            verify=logs.verify,
            on_damage=logs.on_damage,
        )
        bar.hide()
        for line in [json_line("comparison", _facts(found))] if as_json else _lines(found, left, right):
            output.line(line)
    logs.notes([note for note in found.left.notes if note in found.right.notes])
    losses = say_losses([*found.left.damage, *found.right.damage])
    return ending(found.absent_gtids, losses=losses or not (found.equal and found.is_fully_compared))


def _lines(found: LogDiff, left: str, right: str) -> Iterator[str]:
    """Yield the report for people."""
    for name, path, side in (("A", left, found.left), ("B", right, found.right)):
        held = f"{counted(side.logs, 'log')}, {counted(side.transactions, 'transaction')}"
        yield f"{name}  {safe_text(path)}: {held}"
        if side.anonymous_transactions:
            yield f"   {side.anonymous_transactions:,} of them without GTID, not compared"
    yield _titled("in both", found.common_transactions)
    yield from _listed(
        "before B", found.left.gtid_set & found.right.previous_gtids, "B had these before its first log"
    )
    yield from _listed(
        "before A", found.right.gtid_set & found.left.previous_gtids, "A had these before its first log"
    )
    yield from _listed(
        "in no log", found.in_no_log, "listed before the logs of one, and unknown to the other"
    )
    for name, other, lacking in (("A", "B", found.only_left), ("B", "A", found.only_right)):
        gtids, errant, purged, unlogged = lacking
        yield _titled(f"only in {name}", gtids.count)
        if gtids:
            yield f"  {gtids}"
        if errant:
            yield f"  errant: {errant}"
            yield f"    {other} has later ones of the source, or none of it: replication will not bring these"
        if purged:
            yield f"  perhaps purged: {purged}"
            yield (
                f"    the GTIDs of {other}'s logs begin after these, as after a restored dump or backup;"
                f" gtid_purged of {other} says which it has: give that with --purged-{other.lower()}"
            )
        if unlogged:
            yield f"  statements alone: {unlogged}"
            yield f"    {other} logged nothing for them, as if they changed no rows there; not compared"
    if not found.compared:
        yield f"{'contents':<{_TITLE_WIDTH}}not compared"
        return
    for db, table in found.not_compared:
        name = f"{safe_text(db)}.{safe_text(table)}"
        yield f"{'not compared':<{_TITLE_WIDTH}}{name}: it has a column of an unknown type"
    yield from _listed(
        "not compared", found.logged_as_statements, "one side logged statements, the other row changes"
    )
    yield from _listed(
        "logged otherwise", found.logged_otherwise, "equal in the columns that both sides logged"
    )
    yield _titled("different", found.different.count)
    for one in found.differences:
        yield from _difference(one)
    left_out = found.different.count - len(found.differences)
    if left_out:
        yield f"  and {left_out:,} more: {found.different}"


def _titled(title: str, count: int) -> str:
    return f"{title:<{_TITLE_WIDTH}}{count:,}"


def _listed(title: str, gtids: GtidSet, why: str) -> Iterator[str]:
    if gtids:
        yield _titled(title, gtids.count)
        yield f"  {gtids}"
        yield f"    {why}"


def _difference(one: Difference) -> Iterator[str]:
    yield f"  {one.gtid}"
    for pair in one.changes[:_CHANGES_SHOWN]:
        yield from _pair(pair)
    if len(one.changes) > _CHANGES_SHOWN:
        yield f"    and {len(one.changes) - _CHANGES_SHOWN:,} more"


def _pair(pair: ChangePair) -> Iterator[str]:
    """Yield a change and its differences, where both sides have it."""
    one, other = pair.left, pair.right
    if one is None or other is None:
        side, change = ("A", one) if one is not None else ("B", other)
        if change is not None:
            yield f"    only in {side}: {_headed(change)}"
            yield from (f"      {name}  {value}" for name, value in _values(change).items())
        return
    yield f"    {_headed(one)}"
    ours, theirs = _values(one), _values(other)
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    width = max(map(len, names), default=0)
    for name in names:
        yield f"      {name:<{width}}  A  {ours.get(name, '(not logged)')}"
        yield f"      {'':<{width}}  B  {theirs.get(name, '(not logged)')}"


def _headed(change: ShownChange) -> str:
    """Return a change's kind and row."""
    shown = change.shown
    if "sql" in shown:
        return "statement"
    image = shown.get("before") or shown.get("after") or {}
    key = ", ".join(f"{safe_text(name)} = {value_text(image[name])}" for name in change.key if name in image)
    return f"{shown['type']} {safe_text(shown['db'])}.{safe_text(shown['table'])}" + (key and f" {key}")


def _values(change: ShownChange) -> dict[str, str]:
    """Return the values of a change as text, by image and column; a single image has no name."""
    shown = change.shown
    if "sql" in shown:
        return {"database": safe_text(shown["db"]), "sql": safe_text(shown["sql"])}
    images = [image for image in _IMAGES if shown.get(image) is not None]
    return {
        f"{f'{image} ' if len(images) > 1 else ''}{safe_text(name)}": value_text(value)
        for image in images
        for name, value in shown[image].items()
    }


def _facts(found: LogDiff) -> dict[str, Any]:
    """Return the comparison for programs, with changes as they are shown."""
    facts = {name: getattr(found, name) for name in names_of("comparison")}
    facts["differences"] = [
        {
            "gtid": one.gtid,
            "changes": [
                {
                    "left": None if pair.left is None else pair.left.shown,
                    "right": None if pair.right is None else pair.right.shown,
                }
                for pair in one.changes
            ],
        }
        for one in found.differences
    ]
    return facts
