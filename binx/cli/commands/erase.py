"""``binx erase``: erase rows with certain keys from loaded tables, including their history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.options import QUIET, as_json_option
from binx.cli.selecting import parse_condition
from binx.cli.terminal import say_note, text_output
from binx.errors import ExitCode
from binx.report.document import json_line
from binx.source.wording import counted

if TYPE_CHECKING:
    from binx.where.condition import Condition

EXAMPLES = (
    Example(
        "all orders of a customer, and their history",
        "binx erase tables --table shop.orders --where 'customer_id = 42'",
    ),
    Example(
        "a customer who is to stay away, whatever later logs have",
        "binx erase tables --table shop.orders --where 'customer_id = 42' --forever",
    ),
)


@command("erase", examples=EXAMPLES)
@option("--table DB.TABLE", required=True, help="The table, as it is called now.")
@option("--where CONDITION", required=True, type=parsed(parse_condition), help="Which rows match.")
@flag("--forever", "Every later load erases what it brings of these keys.")
@flag("--break-lock", "Remove the lock of a run that is no longer running.")
@as_json_option("Print the figures as one JSON object.")
@QUIET
@click.argument("output", metavar="OUT", type=PATH)
def erase_command(
    table: str,
    where: Condition,
    forever: bool,
    break_lock: bool,
    as_json: bool,
    quiet: bool,
    output: str,
) -> ExitCode:
    """Erase rows that match a condition from the output of `binx load`, with all history of their keys."""
    from binx.lake.erasure import erase

    erased = erase(output, table, where, forever=forever, break_lock=break_lock)
    if erased.keys and not forever and not quiet:
        say_note(
            "later changes of these keys are loaded as ever, and bring them back: --forever prevents that"
        )
    with text_output() as text:
        if as_json:
            text.line(json_line("erased", erased))
        elif not quiet:
            text.line(
                f"{counted(erased.keys, 'key')} erased: {counted(erased.history, 'row')} of history,"
                f" {erased.current} of current, {erased.scd2} of scd2"
            )
    return ExitCode.DONE
