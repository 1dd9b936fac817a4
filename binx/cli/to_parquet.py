"""``binx to-parquet``: row changes as a data set."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from binx.cli.options import (
    COUNT,
    FILES,
    NO_CHECKSUMS,
    OUTPUT,
    QUIET,
    Example,
    command,
    local_folder,
    option,
    selection_options,
    understood,
)
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.summary import source_document, source_line
from binx.cli.terminal import missing_gtids, say_note, say_warning, text_output
from binx.errors import ExitCode
from binx.event.gtid_set import GtidSet
from binx.export.parquet import ParquetOptions, SourceReport, to_parquet
from binx.log.inputs import open_chain
from binx.log.selection import Selection
from binx.rows.catalog import Catalog
from binx.rows.decoder import MEMORY_BYTES, ROW_GROUP_ROWS, DecoderOptions
from binx.rows.types import ArrowOptions

EXAMPLES = (
    Example("all logs of a server; run again, it takes only what is new", "binx to-parquet mysql-bin.index -o lake"),
    Example(
        "one table, with the columns' names from a dump, for servers that do not log them",
        "binx to-parquet --schema schema.sql --table shop.orders mysql-bin.* -o orders",
    ),
    Example(
        "look at it with DuckDB",
        "duckdb -c \"SELECT _change_type, count(*) FROM 'lake/changes/shop/orders/*.parquet' GROUP BY ALL\"",
    ),
)
