"""Open binary logs for the Python API."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, TypeAlias

from binx.api.logs import Binlogs, state_of
from binx.errors import BinxWarning, UsageError
from binx.log.chain.chain import chain_problems, in_order
from binx.log.chain.ends import known_facts
from binx.log.chain.inputs import open_named
from binx.log.selection.selection import Selection
from binx.rows.ddl.schema_dump import dump_of, read_dump
from binx.source.keyring import given_keys

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.compare.differences import LogDiff
    from binx.rows.ddl.schema_dump import SchemaDump

Path: TypeAlias = str | PathLike[str]


def open(  # noqa: A001 - it is called as binx.open
    *paths: Path | Sequence[Path],
    schema: Path | None = None,
    keyring: Path | Sequence[Path] | None = None,
    key_file: Path | None = None,
    identity: Path | Sequence[Path] | None = None,
) -> Binlogs:
    """Open the binary logs of one server's chain, given in any order.

    Args:
        paths: files, ``.index`` files, folders, or URIs supported by ``pyarrow.fs``; also lists of them.
        schema: CREATE TABLE statements, as written by ``mysqldump --no-data``, for column names that are not
            in the logs: the text, or a file given as :class:`pathlib.Path`. They are valid as of the position
            or time in mysqldump's comments, or in a suffix of the path: ``@start`` or ``@end`` of the logs,
            ``@GTID`` or ``@TIME``. If the logs alter a table before that, its earlier columns are unknown.
        keyring: one or more keyring files of the server, for encrypted logs; by default ``BINX_KEYRING`` from
            the environment.
        key_file: a file with one key; by default ``BINX_KEY_FILE``, or the key itself from ``BINX_KEY``.
        identity: one or more files of age identities, for age-encrypted files; by default ``BINX_IDENTITY``.

    Raises:
        UsageError: no path is given, or ``schema`` defines no table.
        SourceError: a file cannot be read.
        NotABinlogError: a file is not a binary log.
        EncryptedError: a file is encrypted, and no given key decrypts it.

    Warns:
        BinxWarning: logs do not follow each other, as where one, or the end of one, is missing.
    """
    named = [path for one in paths for path in _path_list(one)]
    if not named:
        raise UsageError("expected at least one binary log to open, found none")
    dump = None if schema is None else _dump(schema)
    keys = None
    if any(option is not None for option in (keyring, key_file, identity)):
        keys = given_keys(
            _path_list(keyring),
            None if key_file is None else fspath(key_file),
            _path_list(identity),
        )
    chain = in_order(open_named(named, keys), known_facts)
    for problem in chain_problems(chain):
        warnings.warn(problem.sentence, BinxWarning, stacklevel=2)
    known = None if dump is None else dump.known_in([ends.file for ends in chain])
    return Binlogs(chain, known, keys)


def diff(
    left: Path | Sequence[Path],
    right: Path | Sequence[Path],
    *,
    contents: bool = True,
    most: int = 10,
) -> LogDiff:
    """Compare the logs of two servers by GTID and content, as ``binx diff`` does.

    Args:
        left: the logs of one server.
        right: those of the other.
        contents: whether to compare what transactions did, not only their GTIDs.
        most: maximum number of differing transactions to report in detail.

    Raises:
        RefusedError: all transactions of a side lack GTIDs.
        SourceError, NotABinlogError, DamagedError, UnsupportedError: a file cannot be read.
    """
    from binx.compare.differences import diff_logs

    with open(left) as ours, open(right) as theirs:
        return diff_logs(ours.chain, theirs.chain, Selection(), contents=contents, most=most)


def read_state(
    lake: Path, table: str, at: str | None = None, *, key: Sequence[str] = (), where: str | None = None
) -> pa.Table:
    """Return a table of a data set as it was at a moment, as ``binx state`` does.

    Args:
        lake: a data set of ``to-parquet``: a folder or a URI.
        table: ``db.table``, as it was called then.
        at: a time, a GTID or ``FILE:POS``; by default the end of the logs.
        key: the key columns of a table that has no primary key.
        where: a condition that the rows match.

    Raises:
        AbsentError: there was no such table.
        RefusedError: the table has no key.
        UsageError: ``at`` is no moment.
        BinxError: the data set cannot be read.

    Warns:
        BinxWarning: the data set does not have all of the table.
    """
    from binx.lake.table_name import TableName

    return state_of(fspath(lake), TableName.parse(table), at, key, where)


def _path_list(paths: Path | Sequence[Path] | None) -> list[str]:
    if paths is None:
        return []
    return [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]


def _dump(schema: Path) -> SchemaDump:
    if isinstance(schema, PathLike):
        return read_dump(fspath(schema))
    dump = dump_of(schema)
    if not len(dump.tables):
        raise UsageError(
            "expected CREATE TABLE statements as the schema, found text without any; give the path of"
            " a file as pathlib.Path"
        )
    return dump
