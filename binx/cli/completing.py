"""What of the logs on the command line a shell offers for an option: tables, databases, GTIDs.

They come from the logs' index files, or where the logs are read quickly from the logs themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import click
from click.shell_completion import CompletionItem, split_arg_string

from binx.errors import BinxError
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.chain.inputs import STANDARD_INPUT, expand_paths
from binx.log.file import BinlogFile
from binx.log.index.lookup import IndexUse, attach_indexes
from binx.log.scanning import KIND_NAMES, decoded_name
from binx.source.remote import is_uri
from binx.stats.dimensions import Dimension
from binx.stats.listing import Order

READ_BYTES = 64 * 1024 * 1024
"""Logs without index files that are larger together are not read for a completion."""

_MOST = 100
_LOOKED_AT = 200_000
"""GTIDs among which those are looked for that begin as what was typed."""


def complete_tables(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Tables that the files have changes of."""
    return _items(sorted(f"{db}.{table}" for db, table in _names()), incomplete)


def complete_databases(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Databases that the files have changes of."""
    return _items(sorted({db for db, _ in _names()}), incomplete)


def complete_kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of transactions; of a list the last part."""
    return _of_list([*KIND_NAMES, "xa"], incomplete)


def complete_dimensions(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What figures are broken down by; of a list the last part."""
    return _of_list([one.value for one in Dimension], incomplete)


def complete_orders(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What listings are sorted by."""
    return _items(["size", *(order.value for order in Order)], incomplete)


def _of_list(names: list[str], incomplete: str) -> list[CompletionItem]:
    before, comma, last = incomplete.rpartition(",")
    return _items([f"{before}{comma}{name}" for name in names if name.startswith(last)], incomplete)


def complete_gtids(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Servers first, then their transactions, the newest first; of a list the last part."""
    before, comma, last = incomplete.rpartition(",")
    with suppress(BinxError), _logs() as logs:
        servers = list(dict.fromkeys(server for log in logs for server in _servers(log)))
        chosen = len(servers) == 1 or any(last.startswith(server) for server in servers)
        newest = islice((gtid for log in reversed(logs) for gtid in _gtids(log)), _LOOKED_AT)
        found = (one for one in newest if one.startswith(last)) if chosen else iter(servers)
        return _items([f"{before}{comma}{one}" for one in islice(found, _MOST)], incomplete)
    return []


def _server(gtid: str) -> str:
    """What all transactions of a server have in common, up to their number."""
    separator = ":" if ":" in gtid else "-"
    return gtid.rpartition(separator)[0] + separator


def _items(texts: list[str], incomplete: str) -> list[CompletionItem]:
    found = [text for text in texts if text.startswith(incomplete) and text.isprintable()]
    return [CompletionItem(text) for text in found[:_MOST]]


@contextmanager
def _logs() -> Iterator[list[BinlogFile]]:
    """The logs on the command line: those that have index files, and others that are read quickly.

    Click has not read them yet: it stops at the option that still lacks its value. Before any is typed, they
    are those of the current folder.
    """
    words = split_arg_string(os.environ.get("COMP_LINE") or os.environ.get("COMP_WORDS", ""))
    paths: list[str] = []
    for word in words[1:]:
        with suppress(BinxError):
            paths += expand_paths([word] if word != STANDARD_INPUT and not is_uri(word) else [])
    found = [path for path in dict.fromkeys(paths) if Path(path).is_file()]
    if not found:
        with suppress(BinxError):
            found = expand_paths([os.curdir])
    files: list[BinlogFile] = []
    for path in found:
        with suppress(BinxError):
            files.append(BinlogFile.open(path))
    try:
        attach_indexes(files, IndexUse(os.environ.get("BINX_INDEX_DIR") or None))
        unread = sum(file.size for file in files if file.index is None)
        yield [file for file in files if file.index is not None or unread <= READ_BYTES]
    finally:
        for file in files:
            file.close()


def _names() -> set[tuple[str, str]]:
    """Tables of the logs, as far as they can be read."""
    names: set[tuple[str, str]] = set()
    with suppress(BinxError), _logs() as logs:
        for log in logs:
            if log.index is not None:
                names |= set(map(decoded_name, log.index.facts.tables))
                continue
            scan = log.scan(Level.LEVEL_TABLES, verify=False)
            for _ in scan:
                pass
            names |= {scan.table_name(number) for number in range(scan.table_count)}
    return names


def _servers(log: BinlogFile) -> Iterator[str]:
    """What the GTIDs of a log begin with."""
    if log.index is None:
        yield from (_server(gtid) for gtid in reversed(list(_gtids(log))))
        return
    for table in log.index.tables():
        yield from (_server(gtid) for gtid in _gtids_of(table))


def _gtids(log: BinlogFile) -> Iterator[str]:
    """The GTIDs of a log, the newest first."""
    if log.index is None:
        tables = list(log.scan(verify=False))
        for table in reversed(tables):
            yield from _gtids_of(table)
        return
    for table in reversed(list(log.index.tables())):
        yield from _gtids_of(table)


def _gtids_of(table: TransactionTable) -> Iterator[str]:
    return filter(None, map(table.gtid, reversed(range(len(table)))))
