"""The command line of ``load.py``, and the options that it fills."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field

from .manifests import TableName
from .records import FORMATS, ICEBERG, PARQUET

CATALOG_ALONE = "--catalog is about --format iceberg"

_DESCRIPTION = """\
Load what `binx to-parquet` wrote into tables: per table history/ (all row changes, partitioned by commit
date) and current/ (the rows as they are now, by primary key). A second run takes only what is new. The output
is committed as a whole: a run that is killed leaves the state of before, and the next run goes on from there.
"""
_EXAMPLE = """\
example:
  spark-submit "$(binx spark-script)" --input /data/parquet --output /data/tables

exit codes: 0 done; 1 failed; 2 usage; 3 done, with losses that are listed; 4 there is no data set to load
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What a load is asked to do.

    ``keys`` are given keys by ``db.table``, ``chains`` the order in which servers are applied,
    ``apart`` whether a type that does not fit gets its own column (else the load stops), ``catalog`` the one
    that Iceberg's tables go to (empty for the session's).
    """

    inputs: tuple[str, ...]
    output: str
    tables: tuple[str, ...] = ()
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chains: tuple[str, ...] = ()
    apart: bool = True
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
        help="a data set of binx to-parquet (a path or a URI); repeat for several, which may overlap",
    )  # fmt: skip
    add("--output", required=True, metavar="OUT", help="the folder of the tables (a path or a URI)")
    add(
        "--table", action="append", default=[], metavar="DB.TABLE", dest="tables",
        help="only these tables; * and ? match; repeatable",
    )  # fmt: skip
    add(
        "--key", action="append", default=[], type=_key, metavar="DB.TABLE=COLUMN,…", dest="keys",
        help="the key of a table whose schema records none, or another than its own; repeatable",
    )  # fmt: skip
    add(
        "--chain", action="append", default=[], metavar="SERVER", dest="chains",
        help="apply servers' logs in this order (server ids, or chain names); default: by first commit",
    )  # fmt: skip
    add(
        "--on-conflict", choices=("column", "stop"), default="column",
        help="values whose type does not fit later ones' go to a column <name>__<type>, or stop the load",
    )  # fmt: skip
    add("--scd2", action="store_true", help="write scd2/ too: every version of each row, with its time")
    add("--verify", action="store_true", help="compare each new file with the hash in its manifest first")
    add(
        "--compression",
        choices=("zstd", "snappy", "lz4", "none"),
        default="zstd",
        help="of the Parquet files",
    )
    add(
        "--format", choices=FORMATS, default=PARQUET,
        help="of the tables: delta puts Delta's log beside the Parquet files; iceberg makes tables too, in a "
        "catalog of a session that has Iceberg's packages",
    )  # fmt: skip
    add(
        "--catalog", default="", metavar="NAME",
        help="where Iceberg's tables go; default: the session's catalog",
    )  # fmt: skip
    add(
        "--break-lock", action="store_true",
        help="take the lock of a run that is known to be dead (needed only on remote file systems)",
    )  # fmt: skip
    add("--json", action="store_true", help="print the summary as one JSON object")
    add("--quiet", action="store_true", help="print nothing but errors and, with --json, the summary")
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
        scd2=found.scd2,
        verify=found.verify,
        compression=found.compression,
        format=found.format,
        catalog=found.catalog,
        break_lock=found.break_lock,
        json=found.json,
        quiet=found.quiet,
    )
