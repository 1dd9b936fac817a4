"""``binx why``: show the history of one row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from binx.cli.command import Example, command, option
from binx.cli.options import CHANGED_ONLY, CREATE_TABLE, LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.selecting import SELECTION, WHERE, selection_options
from binx.cli.show_text import BOLD, ShowText
from binx.cli.terminal import say_losses, say_warning, screen, text_output
from binx.errors import AbsentError, ExitCode, UsageError
from binx.log.selection.selection import Selection
from binx.rows.ddl.table_statements import RESTORED_FROM
from binx.source.json_text import safe_chunks
from binx.source.wording import counted, encoded
from binx.stats.text import moment_of, safe_text, time_text

if TYPE_CHECKING:
    from binx.inspect.row_history import RowChange
    from binx.where.condition import Condition

EXAMPLES = (
    Example("the history of one order", "binx why --table shop.orders --pk 9007199254740992 mysql-bin.*"),
    Example(
        "a primary key of two columns, in key order",
        "binx why --table shop.order_items --pk 9007199254740992 --pk 1 mysql-bin.*",
    ),
    Example(
        "who set orders to paid, for programs",
        "binx why --table shop.orders --where \"after.status = 'paid'\" --json mysql-bin.* |\n"
        "    jq -r '[.commit_timestamp, .thread_id, .transaction] | @tsv'",
    ),
)


@command(
    "why",
    examples=EXAMPLES,
    brief="pk table where gtid since until thread-id grep limit changed-only create-table tz schema json"
    " on-damage",
)
@option(
    "--pk VALUE",
    "key",
    multiple=True,
    section=SELECTION,
    help="Primary key of the row; repeat for each column of the key.",
)
@selection_options
@WHERE
@CHANGED_ONLY
@CREATE_TABLE
@ZONE
@LOOK
@as_json_option("Print one JSON object per change.")
@log_options(index=True, schema=True)
def why_command(
    logs: Logs,
    key: tuple[str, ...],
    selection: Selection,
    where: Condition | None,
    changed_only: bool,
    create_table: bool,
    as_json: bool,
    zone: tzinfo,
) -> ExitCode:
    """Show the history of one row: each change, when, by which connection, and old and new values."""
    from binx.inspect.row_history import RowLife

    if as_json and changed_only:
        raise UsageError("--changed-only is for people, and cannot be combined with --json")
    if len(selection.tables) != 1:
        raise UsageError("expected exactly one table: --table DB.TABLE")
    count = uncertain = restored = 0
    with text_output(plain=as_json) as output, logs.opened("why", selection) as (chain, bar):
        life = RowLife(
            chain,
            selection._replace(limit=None),
            key=key,
            condition=where,
            catalog=logs.known_tables(chain),
            readable=not as_json,
            definitions=create_table,
            verify=logs.verify,
            on_damage=logs.on_damage,
        )
        shown = _Text(zone, changed_only=changed_only, create_table=create_table)
        is_for_screen = screen()[0] is not None
        lines = life.lines() if as_json else ((change, shown.text(change)) for change in life)
        for change, text in lines:
            count += 1
            uncertain += change.uncertain
            restored += change.restored_by is not None
            if is_for_screen:
                bar.hide()
            output.write_chunks(safe_chunks(text) if as_json else text)
            if count == selection.limit:
                break
    if not logs.quiet:
        say_losses(life.warnings)
    logs.notes(life.search.selector.notes)
    losses = say_losses(life.search.damage)
    if not count:
        raise AbsentError("no changes of the row in these files")
    logs.notes([f"changes: {count:,}", *([RESTORED_FROM] if restored else [])])
    if uncertain:
        say_warning(
            f"{counted(uncertain, 'statement')} on the table may have changed, removed or brought the row,"
            " and its values are not in the log; they are listed among the changes"
        )
    return logs.ending("", losses=bool(uncertain or losses))


class _Text:
    """Changes for people, with values as in ``binx show``."""

    def __init__(self, zone: tzinfo, *, changed_only: bool, create_table: bool) -> None:
        width, colour = screen()
        self._show = ShowText(
            colour=colour, zone=zone, changed_only=changed_only, create_table=create_table, width=width
        )
        self._zone = zone
        self._begun = False

    def text(self, change: RowChange) -> Iterator[bytes]:
        """Yield the lines of one change."""
        for line in self._lines(change):
            yield encoded(line) + b"\n"

    def _lines(self, change: RowChange) -> Iterator[str]:
        if self._begun:
            yield ""
        self._begun = True
        row = change.row
        who = f"server {change.server_id}"
        if change.thread_id is not None:
            who += f", thread {change.thread_id}"
        more = ", changes the key" if change.moved else ""
        if row["type"] == "statement":
            more = " logged as text, which may have changed the row"
        when = time_text(moment_of(row["commit_timestamp"]), self._zone)
        head = f"{when}  {row['type']}{more}"
        yield self._show.coloured(head, BOLD)
        yield f"  transaction {safe_text(row['transaction'])}"
        yield from self._show.folded(f"  {safe_text(change.file)}:{change.start}, {who}")
        if change.is_statement:
            yield from self._show.statement(change.sql or "")
            if change.restored_by is not None:
                yield f"  restored by: {safe_text(change.restored_by)}"
            if change.create_table is not None or row["type"] in ("create", "alter"):
                yield from self._show.definition(row["db"], row["table"], change.create_table)
            return
        if change.sql is not None:
            yield f"  {safe_text(' '.join(change.sql.split()))}"
        yield from self._show.definition(row["db"], row["table"], change.create_table)
        yield from self._show.values(row)
