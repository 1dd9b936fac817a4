"""The command line of ``load.py``, and the options that it fills."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field

from .manifests import TableName
from .records import FORMATS, ICEBERG, PARQUET

CATALOG_ALONE = "--catalog applies only to --format iceberg"

_DESCRIPTION = """\
Build tables from data sets written by `binx to-parquet`: for each table history/ (all row changes,
partitioned by commit date) and current/ (the latest rows, by primary key). Later runs process only what is
new. The output is committed as a whole: if a run is killed, the previous state remains and the next run
continues from there.
"""
_EXAMPLE = """\
example:
  spark-submit "$(binx spark-script)" --input /data/parquet --output /data/tables

exit codes: 0 success; 1 failure; 2 usage error; 3 success with losses, which are listed; 4 no data set found
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What a load is asked to do.

    ``keys`` are given keys by ``db.table``, ``chains`` the order in which servers are applied,
    ``apart`` whether a type that does not fit gets its own column (else the load stops), ``partial`` whether
    tables whose beginning the logs lack are wanted as they are, ``catalog`` the one that Iceberg's tables go
    to (empty for the session's).
    """

    inputs: tuple[str, ...]
    output: str
    tables: tuple[str, ...] = ()
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chains: tuple[str, ...] = ()
    apart: bool = True
    partial: bool = False
    scd2: bool = False
    verify: bool = False
    compression: str = "zstd"
    format: str = PARQUET
    catalog: str = ""
    break_lock: bool = False
    json: bool = False
    quiet: bool = False

    def wants(self, table: TableName) -> bool:
        """Whether the table is among those asked for."""
        return not self.tables or any(fnmatch.fnmatchcase(str(table), pattern) for pattern in self.tables)


def parse_key(text: str) -> tuple[str, tuple[str, ...]]:
    """A table and the columns of its key, from ``DB.TABLE=COLUMN,…``.

    Raises:
        ValueError: the text is something else.
    """
    table, _, columns = text.partition("=")
    names = tuple(name.strip() for name in columns.split(","))
    if "." not in table or not all(names):
        raise ValueError(f"expected DB.TABLE=COLUMN,…, found {text!r}")
    return table, names


def _key(text: str) -> tuple[str, tuple[str, ...]]:
    try:
        return parse_key(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="load.py",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--input", action="append", required=True, metavar="DIR", dest="inputs",
        help="data set written by binx to-parquet (path or URI); repeatable, data sets may overlap",
    )  # fmt: skip
    add("--output", required=True, metavar="OUT", help="output folder of the tables (path or URI)")
    add(
        "--table", action="append", default=[], metavar="DB.TABLE", dest="tables",
        help="only these tables; * and ? match; repeatable",
    )  # fmt: skip
    add(
        "--key", action="append", default=[], type=_key, metavar="DB.TABLE=COLUMN,…", dest="keys",
        help="key columns of a table, if its schema records none or to override it; repeatable",
    )  # fmt: skip
    add(
        "--chain", action="append", default=[], metavar="SERVER", dest="chains",
        help="order in which servers are applied (server ids or chain names); default: by first commit",
    )  # fmt: skip
    add(
        "--on-conflict", choices=("column", "stop"), default="column",
        help="values of an incompatible former type: move to a column <name>__<type>, or stop the load",
    )  # fmt: skip
    add("--partial", action="store_true", help="tables whose beginning the logs lack are no loss")
    add("--scd2", action="store_true", help="also write scd2/: every version of each row and its validity")
    add("--verify", action="store_true", help="first verify each new file against the hash in its manifest")
    add(
        "--compression",
        choices=("zstd", "snappy", "lz4", "none"),
        default="zstd",
        help="compression of the Parquet files",
    )
    add(
        "--format", choices=FORMATS, default=PARQUET,
        help="table format: delta adds a Delta log to the Parquet files; iceberg also creates tables in a "
        "catalog, and needs Iceberg's packages in the session",
    )  # fmt: skip
    add(
        "--catalog", default="", metavar="NAME",
        help="Iceberg catalog; default: the session's catalog",
    )  # fmt: skip
    add(
        "--break-lock", action="store_true",
        help="remove the lock of a run that is no longer running (only needed on remote file systems)",
    )  # fmt: skip
    add("--json", action="store_true", help="print the summary as one JSON object")
    add("--quiet", action="store_true", help="print only errors and, with --json, the summary")
    return parser


def parse_arguments(arguments: Sequence[str] | None) -> Options:
    """The options that the arguments ask for; exits with 2 where they cannot be understood."""
    parser = build_parser()
    found = parser.parse_args(arguments)
    if found.catalog and found.format != ICEBERG:
        parser.error(CATALOG_ALONE)
    return Options(
        inputs=tuple(found.inputs),
        output=found.output,
        tables=tuple(found.tables),
        keys=dict(found.keys),
        chains=tuple(found.chains),
        apart=found.on_conflict == "column",
        partial=found.partial,
        scd2=found.scd2,
        verify=found.verify,
        compression=found.compression,
        format=found.format,
        catalog=found.catalog,
        break_lock=found.break_lock,
        json=found.json,
        quiet=found.quiet,
    )
