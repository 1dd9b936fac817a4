"""How binary logs are opened."""

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
    """Open binary logs of one server's chain; they come in its order, however they are named.

    Args:
        paths: files, ``.index`` files, folders, or URIs that ``pyarrow.fs`` knows.
        schema: SQL as ``mysqldump --no-data`` writes it, which names the columns where the logs do not: a
            text, or as :class:`pathlib.Path` a file of it.
        keyring: the server's keyring file, or several, for encrypted logs; else ``BINX_KEYRING`` in the
            environment.
        key_file: a file that holds one key; else ``BINX_KEY_FILE``, or the key itself in ``BINX_KEY``.
        identity: a file of age identities, or several, for files that are encrypted with age; else
            ``BINX_IDENTITY``.

    Raises:
        UsageError: no path is given, or ``schema`` is a text that defines no table.
        SourceError: a file cannot be read.
        NotABinlogError: a file is no binary log.
        EncryptedError: a file is encrypted, and no key fits.
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
            "expected SQL with CREATE TABLE statements as the schema, found a text without any; give the path"
            " of a file as pathlib.Path"
        )
    return catalog


__all__ = ["Path", "open"]
