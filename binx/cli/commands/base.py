"""``binx base``: a backup's rows as a part of a data set."""

from __future__ import annotations

from pathlib import Path

import click

from binx.cli.command import PATH, Example, command, option, parsed
from binx.cli.options import COMPRESSION, QUIET
from binx.cli.progress import progress_bar
from binx.cli.selecting import ShortGtids, gtid_set
from binx.cli.summary import Summary
from binx.cli.terminal import text_output
from binx.errors import ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition
from binx.log.selection.moments import Position, parse_position

EXAMPLES = (
    Example("last night's dump, and the logs since", "binx base shop.sql.gz -o lake"),
    Example("one table of a dump", "binx base all.sql.zst --table shop.orders -o orders"),
    Example(
        "a dump that does not say where it stands",
        "binx base shop.sql --from mysql-bin.000003:157 -o lake",
    ),
)


@command("base", examples=EXAMPLES)
@option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=PATH,
    help="Folder of the data set (created if missing), or a URI such as s3://bucket/lake.",
)
@option(
    "--table",
    "tables",
    metavar="DB.TABLE",
    multiple=True,
    help="Only these tables; * and ? match. May be repeated.",
)
@option(
    "--from-gtid",
    metavar="SET",
    type=parsed(gtid_set),
    help="The GTIDs that the backup holds, where it does not say so itself.",
)
@option(
    "--from",
    "from_position",
    metavar="FILE:POS",
    type=parsed(parse_position),
    help="The position of the backup in the logs, where it does not say so itself.",
)
@COMPRESSION
@option(
    "--unsigned-bigint",
    type=click.Choice(["uint64", "decimal"]),
    default="uint64",
    show_default=True,
    help="Parquet type for BIGINT UNSIGNED, as given to to-parquet.",
)
@option("--force", is_flag=True, help="Rewrite backups that are in the data set already.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object per backup.")
@QUIET
@click.argument("dumps", metavar="DUMP...", type=PATH, nargs=-1, required=True)
def base_command(
    dumps: tuple[str, ...],
    output: str,
    tables: tuple[str, ...],
    from_gtid: GtidSet | ShortGtids | None,
    from_position: Position | None,
    compression: str,
    unsigned_bigint: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> ExitCode:
    """Take a backup's tables into a data set, as what the changes in the logs begin with."""
    from binx.base.importing import import_bases
    from binx.dataset.options import MEMORY_BYTES, ParquetOptions
    from binx.rows.columns.types import ArrowOptions
    from binx.rows.decoder import ROW_GROUP_ROWS, DecoderOptions

    arrow = ArrowOptions(unsigned_as_decimal=unsigned_bigint == "decimal")
    options = ParquetOptions(
        compression=compression, decoder=DecoderOptions(ROW_GROUP_ROWS, MEMORY_BYTES, arrow), force=force
    )
    summary = Summary(as_json=as_json, quiet=quiet)
    with text_output(plain=as_json) as text, progress_bar("base", quiet=quiet) as bar:
        bar.expect(sum(Path(path).stat().st_size for path in dumps if Path(path).is_file()))
        position = _position(from_gtid, from_position)
        for report in import_bases(
            dumps, output, options, position=position, tables=tables, progress=bar.reach
        ):
            summary.take(report, text)
    return summary.exit_code(GtidSet())


def _position(gtids: GtidSet | ShortGtids | None, position: Position | None) -> BackupPosition | None:
    """Where the backup stands, as the user says."""
    if isinstance(gtids, ShortGtids):
        raise UsageError("expected whole UUIDs behind --from-gtid, found short ones")
    if position is not None and position.file is None:
        raise UsageError(f"expected --from FILE:POS, found the position {position.offset} without a file")
    if gtids is None and position is None:
        return None
    file, offset = ("", 0) if position is None else (position.file or "", position.offset)
    return BackupPosition(file, offset, gtids or GtidSet())
