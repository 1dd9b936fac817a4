"""Slices: whole transactions that follow each other in one log, with all that a task needs to read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from binx.dataset.chain import unpacked
from binx.event.format import FormatDescription
from binx.log.file import BinlogFile
from binx.log.scan import Resumption
from binx.rows.ddl.catalog import Catalog
from binx.spark.log_place import LogPlace
from binx.spark.source.request import Request


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a log that one task reads."""

    log: LogPlace
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


@contextmanager
def opened(part: Slice, request: Request) -> Iterator[BinlogFile]:
    """The log of a slice; scans of it give the slice's transactions.

    Raises:
        StaleError: it is another log than the one that the plan was made of.
        BinxError: as :meth:`~binx.log.file.BinlogFile.open`.
    """
    with part.log.opened(request.keys(), part.stop) as file:
        file.resumption = Resumption(part.start, part.format, part.stop)
        yield file


__all__ = ["Slice", "opened"]
