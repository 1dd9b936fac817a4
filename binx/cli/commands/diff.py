"""``binx diff``: what two servers' logs have in common, and what not."""

from __future__ import annotations

import click

from binx.cli.command import PATH, Example, command, option, parsed
from binx.cli.diff_text import diff_document, diff_lines
from binx.cli.options import (
    COUNT,
    KEYS,
    LOOK,
    NO_CHECKSUMS,
    ON_DAMAGE,
    QUIET,
    SCHEMA,
    VERBOSE,
    known_tables,
    schema_dump,
)
from binx.cli.progress import progress_bar
from binx.cli.selecting import SELECTION, selection_options, tell_understood
from binx.cli.terminal import ending, say_damage, text_output
from binx.errors import ExitCode
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.scanning import OnDamage
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
@click.argument("left", metavar="A", type=PATH)
@click.argument("right", metavar="B", type=PATH)
@selection_options
@option("--gtids", "gtids_only", is_flag=True, help="Compare only GTIDs, not contents.")
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
@SCHEMA
@LOOK
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@NO_CHECKSUMS
@ON_DAMAGE
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
    purged_left: GtidSet | None,
    purged_right: GtidSet | None,
    schema: str | None,
    no_checksums: bool,
    on_damage: str,
    quiet: bool,
) -> ExitCode:
    """Compare the logs of two servers: missing transactions, and transactions with different contents."""
    from binx.compare.diff import diff_logs

    dump = schema_dump(schema)
    tell_understood(selection, dump, quiet=quiet)
    with (
        text_output(plain=as_json) as output,
        progress_bar("diff", quiet=quiet) as bar,
        open_chain([left], bar.advance, on_damage=OnDamage(on_damage)) as ours,
        open_chain([right], bar.advance, on_damage=OnDamage(on_damage)) as theirs,
    ):
        bar.expect(sum(ends.file.size for ends in [*ours, *theirs]))
        found = diff_logs(
            ours,
            theirs,
            selection,
            contents=not gtids_only,
            most=most,
            purged=(purged_left or GtidSet(), purged_right or GtidSet()),
            catalog=known_tables(dump, [*ours, *theirs]),
            verify=not no_checksums,
            on_damage=OnDamage(on_damage),
        )
        bar.close()
        for line in [diff_document(found)] if as_json else diff_lines(found, left, right):
            output.line(line)
    losses = say_damage([*found.left.damage, *found.right.damage])
    return ending(found.missing, losses=losses or not (found.equal and found.whole))
