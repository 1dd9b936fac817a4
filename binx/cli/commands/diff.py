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
from binx.source.json_text import json_text
from binx.source.wording import counted
from binx.stats.text import safe_text

if TYPE_CHECKING:
    from binx.compare.diff import ChangePair, Difference, Lacking, LogDiff
    from binx.compare.side import ShownChange, Side

EXAMPLES = (
    Example("whether a replica has the same transactions as its source", "binx diff source/ replica/"),
    Example("by GTIDs only, which is faster", "binx diff --gtids source/ replica/"),
    Example(
        "the replica's errant transactions, for programs",
        "binx diff --gtids --json source/ replica/ | jq -r .only_right.errant",
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
    from binx.compare.diff import diff_logs

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
        for line in [_document(found)] if as_json else _lines(found, left, right):
            output.line(line)
    losses = say_losses([*found.left.damage, *found.right.damage])
    return ending(found.missing, losses=losses or not (found.equal and found.is_fully_compared))


def _lines(found: LogDiff, left: str, right: str) -> Iterator[str]:
    """Yield the report for people."""
    for name, path, side in (("A", left, found.left), ("B", right, found.right)):
        held = f"{counted(side.files, 'log')}, {counted(side.transactions, 'transaction')}"
        yield f"{name}  {safe_text(path)}: {held}"
        if side.anonymous:
            yield f"   {side.anonymous:,} of them without GTID, not compared"
    yield _titled("in both", found.common)
    yield from _listed("before B", found.left.gtids & found.right.before, "B had these before its first log")
    yield from _listed("before A", found.right.gtids & found.left.before, "A had these before its first log")
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
                f"    the GTIDs of {other}'s logs begin behind these, as after a restored dump or backup;"
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
    yield from _listed("not compared", found.statements, "one side logged statements, the other row changes")
    yield from _listed("logged otherwise", found.other_columns, "equal in the columns that both sides logged")
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
    for pair in one.pairs[:_CHANGES_SHOWN]:
        yield from _pair(pair)
    if len(one.pairs) > _CHANGES_SHOWN:
        yield f"    and {len(one.pairs) - _CHANGES_SHOWN:,} more"


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


def _document(found: LogDiff) -> str:
    """Return the same as one JSON object."""
    document = {
        "equal": found.equal,
        "left": _side(found.left),
        "right": _side(found.right),
        "only_left": _only(found.only_left),
        "only_right": _only(found.only_right),
        "common": found.common,
        "in_no_log": _counted(found.in_no_log),
        "compared": found.compared,
        "different": _counted(found.different),
        "differences": [
            {
                "gtid": one.gtid,
                "changes": [{"left": _shown(pair.left), "right": _shown(pair.right)} for pair in one.pairs],
            }
            for one in found.differences
        ],
        "logged_otherwise": _counted(found.other_columns),
        "statements": _counted(found.statements),
        "not_compared": [{"db": db, "table": table} for db, table in found.not_compared],
    }
    return json_text(document)


def _side(one: Side) -> dict[str, Any]:
    return {
        "files": one.files,
        "gtids": str(one.gtids),
        "before": str(one.before),
        "transactions": one.transactions,
        "anonymous": one.anonymous,
    }


def _only(lacking: Lacking) -> dict[str, Any]:
    named = {"errant": lacking.errant, "perhaps_purged": lacking.purged, "statements": lacking.unlogged}
    return {**_counted(lacking.gtids), **{name: str(part) for name, part in named.items()}}


def _counted(gtids: GtidSet) -> dict[str, Any]:
    return {"gtids": str(gtids), "count": gtids.count}


def _shown(change: ShownChange | None) -> Any:
    return None if change is None else change.shown
