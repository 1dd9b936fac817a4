"""``binx diff``: what two servers' logs have in common, and what not."""

from __future__ import annotations

from binx.cli.command import COUNT, Example, command, flag, option, parsed
from binx.cli.diff_text import diff_document, diff_lines
from binx.cli.options import LOOK, Logs, as_json_option, log_options
from binx.cli.selecting import SELECTION, selection_options
from binx.cli.terminal import ending, say_losses, text_output
from binx.errors import ExitCode
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection, wanted_gtids

EXAMPLES = (
    Example("whether a replica has the same transactions as its source", "binx diff source/ replica/"),
    Example("by GTIDs only, which is faster", "binx diff --gtids source/ replica/"),
    Example(
        "the replica's errant transactions, for programs",
        "binx diff --gtids --json source/ replica/ | jq -r .only_right.errant",
    ),
)


@command("diff", examples=EXAMPLES)
@selection_options
@flag("--gtids", "Compare only GTIDs, not contents.", "gtids_only")
@option(
    "--show",
    "most",
    type=COUNT,
    default=10,
    show_default=True,
    help="Show details of at most N differing transactions.",
)
@option(
    "--purged-a",
    "purged_left",
    metavar="SET",
    type=parsed(wanted_gtids),
    section=SELECTION,
    help="GTIDs that A has from before its logs, such as its gtid_purged.",
)
@option(
    "--purged-b",
    "purged_right",
    metavar="SET",
    type=parsed(wanted_gtids),
    section=SELECTION,
    help="The same of B.",
)
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
        logs.opened("diff", selection, paths=[left]) as (ours, bar),
        open_chain([right], bar.advance, on_damage=logs.on_damage) as theirs,
    ):
        bar.expect(sum(ends.file.size for ends in [*ours, *theirs]))
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
        for line in [diff_document(found)] if as_json else diff_lines(found, left, right):
            output.line(line)
    losses = say_losses([*found.left.damage, *found.right.damage])
    return ending(found.missing, losses=losses or not (found.equal and found.whole))
