"""Where a log is, for machines that open it by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from binx.errors import StaleError
from binx.log.file import BinlogFile
from binx.source import open_source
from binx.source.base import JoinedSource
from binx.source.remote import is_uri

if TYPE_CHECKING:
    from binx.source.keyring import Keys


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A log, as the driver found it."""

    path: str
    identity: str
    others: tuple[str, ...] = ()
    joined_size: int | None = None

    @classmethod
    def of(cls, file: BinlogFile) -> Self:
        """Where a log is that is open here."""
        path = _absolute(file.path)
        if not isinstance(file.source, JoinedSource):
            return cls(path, file.identity)
        others = tuple(_absolute(source.path) for source in file.source.others)
        return cls(path, file.identity, others, file.source.size)

    @contextmanager
    def opened(self, keys: Keys | None, least: int) -> Iterator[BinlogFile]:
        """Open it.

        Raises:
            StaleError: it is another log, or shorter.
            BinxError: as :meth:`~binx.log.file.BinlogFile.open`.
        """
        with BinlogFile.open(self.path, keys) as file:
            if file.identity != self.identity or (not self.others and file.size < least):
                raise StaleError(
                    f"expected the log {self.identity} with at least {least:,} bytes, found"
                    f" {file.identity} with {file.size:,}: the file was replaced since the query was"
                    " planned, or this machine has a different file of that name",
                    path=self.path,
                )
            others = [open_source(path, keys) for path in self.others]
            try:
                if others:
                    file.source = JoinedSource(file.source, others, self.joined_size)
                yield file
            finally:
                for source in others:
                    source.close()


def _absolute(path: str) -> str:
    return path if is_uri(path) else str(Path(path).absolute())


__all__ = ["LogPlace"]
