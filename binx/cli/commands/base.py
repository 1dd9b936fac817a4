"""``binx base``: add a backup's rows to a data set."""

from __future__ import annotations

from pathlib import Path

import click

from binx.cli.command import OUTPUT, PATH, Example, command, flag, option
from binx.cli.export_summary import Summary
from binx.cli.options import (
    COMPRESSION,
    DATA_SET,
    QUIET,
    UNSIGNED_BIGINT,
    as_json_option,
)
from binx.cli.personal_options import PERSONAL_OPTIONS
from binx.cli.progress import progress_bar
from binx.cli.selecting import backup_options, backup_position
from binx.cli.terminal import ending, say_losses, text_output
from binx.dataset.personal.rules import Rule, personal_data
from binx.errors import ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.options import ShortGtids
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import table_name
from binx.log.selection.times import Position

EXAMPLES = (
    Example("last night's dump, and the logs since", "binx base shop.sql.gz -o lake"),
    Example("one table of a dump", "binx base all.sql.zst --table shop.orders -o orders"),
    Example(
        "a dump that does not say where it stands",
        "binx base shop.sql --from mysql-bin.000003:157 -o lake",
    ),
    Example(
        "a table that DuckDB read from the server, and where that was in the logs",
        "binx base shop.orders.parquet --schema schema.sql --from mysql-bin.000003:157 -o lake",
    ),
)


@command(
    "base",
    examples=EXAMPLES,
    brief="output table schema as from-gtid from drop-columns hash-columns hash-key force json",
)
@DATA_SET
@option(
    "--table DB.TABLE", "tables", multiple=True, help="Only these tables; * and ? match. May be repeated."
)
@option(
    "--schema",
    metavar="FILE",
    type=PATH,
    help="The CREATE TABLE statements of the tables in Parquet files, as mysqldump --no-data writes them.",
)
@option(
    "--as",
    "name",
    metavar="DB.TABLE",
    help="The table that Parquet files are of, where their names do not tell it.",
)
@backup_options(OUTPUT)
@COMPRESSION
@UNSIGNED_BIGINT
@PERSONAL_OPTIONS
@flag("--force", "Rewrite backups that are in the data set already.")
@as_json_option("Print one JSON object per backup.")
@QUIET
@click.argument("dumps", metavar="DUMP...", type=PATH, nargs=-1, required=True)
def base_command(
    dumps: tuple[str, ...],
    output: str,
    tables: tuple[str, ...],
    schema: str | None,
    name: str | None,
    from_gtid: GtidSet | ShortGtids | None,
    from_position: Position | None,
    compression: str,
    unsigned_bigint: str,
    dropped: tuple[Rule, ...],
    hashed: tuple[Rule, ...],
    hash_key: str | None,
    allow_unmatched_rules: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> ExitCode:
    """Take a backup's tables into a data set, as what the changes in the logs begin with."""
    from binx.dataset.dataset import DataSet
    from binx.dataset.options import ParquetOptions
    from binx.dataset.personal.unmatched_rules import unmatched
    from binx.lake.base.importing import import_bases
    from binx.rows.columns.types import ArrowOptions
    from binx.rows.decoder import DecoderOptions

    arrow = ArrowOptions(unsigned_as_decimal=unsigned_bigint == "decimal")
    options = ParquetOptions(
        compression=compression,
        decoder=DecoderOptions(arrow=arrow),
        force=force,
        personal=personal_data(dropped, hashed, hash_key),
        allows_unmatched_rules=allow_unmatched_rules,
    )
    if isinstance(from_gtid, ShortGtids):
        raise UsageError("expected full UUIDs after --from-gtid, found short ones")
    position = backup_position(from_gtid, from_position)
    summary = Summary(as_json=as_json, quiet=quiet)
    with text_output(plain=as_json) as text, progress_bar("base", quiet=quiet) as bar:
        bar.expect(sum(Path(path).stat().st_size for path in dumps if Path(path).is_file()))
        for report in import_bases(
            dumps,
            output,
            options,
            position=position,
            tables=tables,
            schema=schema,
            table=None if name is None else table_name(name),
            progress=bar.reach,
        ):
            summary.take(report, text)
        # Said also if quiet.
        has_unmatched = say_losses(unmatched(DataSet(output), Selection(), options))
    return ending("", losses=summary.has_losses or has_unmatched)
