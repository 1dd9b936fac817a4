"""Opening binary logs."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, TypeAlias

from binx.api.logs import Binlogs
from binx.errors import BinxError, UsageError
from binx.log.chain import order_ends
from binx.log.ends import known_ends
from binx.log.file import open_files
from binx.log.inputs import expand_paths
from binx.log.relay import join_relay_logs

if TYPE_CHECKING:
    from binx.rows.catalog import Catalog

Path: TypeAlias = str | PathLike[str]


def open(  # noqa: A001 - it is called as binx.open
    *paths: Path,
    schema: Path | None = None,
    keyring: Path | Sequence[Path] | None = None,
    key_file: Path | None = None,
    identity: Path | Sequence[Path] | None = None,
) -> Binlogs:
    """Open the binary logs of one server's chain, given in any order.

    Args:
        paths: files, ``.index`` files, folders, or URIs supported by ``pyarrow.fs``.
        schema: CREATE TABLE statements, as written by ``mysqldump --no-data``, for column names that are not
            in the logs: the text, or a file given as :class:`pathlib.Path`.
        keyring: one or more keyring files of the server, for encrypted logs; by default ``BINX_KEYRING`` from
            the environment.
        key_file: a file with one key; by default ``BINX_KEY_FILE``, or the key itself from ``BINX_KEY``.
        identity: one or more files of age identities, for age-encrypted files; by default ``BINX_IDENTITY``.

    Raises:
        UsageError: no path is given, or ``schema`` defines no table.
        SourceError: a file cannot be read.
        NotABinlogError: a file is not a binary log.
        EncryptedError: a file is encrypted, and no given key decrypts it.
    """
    if not paths:
        raise UsageError("expected at least one binary log to open, found none")
    known = None if schema is None else _known_tables(schema)
    keys = None
    if any(given is not None for given in (keyring, key_file, identity)):
        from binx.source.keyring import given_keys

        keys = given_keys(
            _listed(keyring),
            None if key_file is None else fspath(key_file),
            _listed(identity),
        )
    files = open_files(expand_paths([fspath(path) for path in paths]), keys)
    try:
        join_relay_logs(files)
        chain = order_ends(map(known_ends, files))
    except BinxError:
        for file in files:
            file.close()
        raise
    return Binlogs(chain, known)


def _listed(paths: Path | Sequence[Path] | None) -> list[str]:
    if paths is None:
        return []
    return [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]


def _known_tables(schema: Path) -> Catalog:
    from binx.export.known_tables import read_dump
    from binx.rows.catalog import Catalog

    if isinstance(schema, PathLike):
        catalog, _ = read_dump(fspath(schema))
        return catalog
    catalog = Catalog()
    catalog.load_dump(schema)
    if not len(catalog):
        raise UsageError(
            "expected CREATE TABLE statements as the schema, found text without any; give the path of"
            " a file as pathlib.Path"
        )
    return catalog


__all__ = ["Path", "open"]
