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
from binx.cli.selecting import SELECTION, selection_options, understood
from binx.cli.terminal import ending, say_damage, say_note, text_output
from binx.errors import ExitCode
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.damage.on_damage import OnDamage
from binx.log.selection.selection import Selection, wanted_gtids

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
    "Of the transactions a side lacks, those that replication will not bring are called errant: transactions"
    " older than others it has from the same server (in MariaDB: the same domain), and all transactions of"
    " a server from which it has none. If a side's GTIDs of a server begin later than those that it lacks,"
    " it may have these from a dump or backup: PREVIOUS_GTIDS does not list what was purged. They are"
    " reported as perhaps purged, and --purged-a and --purged-b take what gtid_purged says (in MariaDB,"
    " gtid_slave_pos at the time of the restore, as a range from 1). A MariaDB replica that logs rows has no"
    " GTID for transactions that are empty, which is no difference, or whose statements changed no rows,"
    " which are listed.",
    "Transactions that both sides have are compared by what they did to rows and definitions. How that is"
    " logged may differ: times, positions, compression, table numbers, the order of tables and of rows,"
    " savepoints, temporary tables, default databases, IF EXISTS. Transactions of which one side logged fewer"
    " columns (binlog_row_image) are listed as logged otherwise if the values that both have are equal. Where"
    " one side logged statements and the other row changes, nobody can compare them; these transactions"
    " are listed, and so are tables with a column type unknown to binx. Of the first different transactions,"
    " the values that differ are shown.",
    "The exit status is 0 if nothing differs, 3 if something differs or was not compared, and 4 if a GTID"
    " given with --gtid is in neither side's logs. With --json, one object is printed: equal, left and"
    " right (files, gtids, before, transactions, anonymous), only_left and only_right (gtids, count,"
    " errant, perhaps_purged, statements), common, compared, different (gtids, count), differences (gtid,"
    " changes with left and right), logged_otherwise and statements (gtids, count), not_compared (db,"
    " table).",
)


@command("diff", examples=EXAMPLES, details=DETAILS)
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
    if not quiet:
        for line in [*understood(selection), *(dump.unclear if dump else ())]:
            say_note(line)
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
