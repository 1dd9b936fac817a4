"""Slices: whole transactions that follow each other in one log, with all that a task needs to read them."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from binx.errors import StaleError
from binx.event.format import FormatDescription
from binx.log.file import BinlogFile, Resumption
from binx.rows.catalog import Catalog
from binx.source import open_source
from binx.source.joined import JoinedSource
from binx.spark.source.request import Request


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a log that one task reads.

    Attributes:
        path: the log.
        others: of a relay log, the next ones, into which its last transaction goes on.
        joined_size: of a relay log, where that transaction ends; None where there are no others.
        identity: the log's source identity, by which another file of that name is told apart.
        start: offset of the first transaction.
        stop: offset behind the last one.
        transactions: how many there are.
        format: the format description in force at the start.
        epoch: how many logs of the chain, up to this one, began with a server's start.
        seqno: the first transaction's number in the chain, from 1.
        tables: the tables known at the start, packed; empty where nobody asks.
    """

    path: str
    others: tuple[str, ...]
    joined_size: int | None
    identity: str
    start: int
    stop: int
    transactions: int
    format: FormatDescription
    epoch: int
    seqno: int
    tables: bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return self.stop - self.start

    def catalog(self) -> Catalog:
        """The tables known at the start."""
        return unpacked(self.tables)


def packed(catalog: Catalog) -> bytes:
    """A catalog as few bytes, which are sent with a plan; none for an empty one."""
    return zlib.compress(pickle.dumps(catalog)) if len(catalog) else b""


def unpacked(tables: bytes) -> Catalog:
    """The catalog that :func:`packed` was given."""
    if not tables:
        return Catalog()
    # The driver of the same job has made it.
    catalog: Catalog = pickle.loads(zlib.decompress(tables))
    return catalog


@contextmanager
def opened(part: Slice, request: Request) -> Iterator[BinlogFile]:
    """The log of a slice; scans of it give the slice's transactions.

    Raises:
        StaleError: it is another log than the one that the plan was made of.
        BinxError: as :meth:`~binx.log.file.BinlogFile.open`.
    """
    keys = request.keys()
    with BinlogFile.open(part.path, keys) as file:
        if file.identity != part.identity or (not part.others and file.size < part.stop):
            raise StaleError(
                f"expected the log {part.identity} with at least {part.stop:,} bytes, found {file.identity}"
                f" with {file.size:,}: the file was replaced since the query was planned, or this machine has"
                " another one of that name",
                path=part.path,
            )
        others = [open_source(path, keys) for path in part.others]
        try:
            if others:
                file.source = JoinedSource(file.source, others, part.joined_size)
            file.resumption = Resumption(part.start, part.format, part.stop)
            yield file
        finally:
            for source in others:
                source.close()


__all__ = ["Slice", "opened", "packed", "unpacked"]
