"""Open a log in a task on another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from binx.errors import StaleError
from binx.log.binlog_file import BinlogFile
from binx.source import open_source
from binx.source.age import IDENTITY_VARIABLE
from binx.source.byte_source import JoinedSource
from binx.source.keyring import KEY_FILE_VARIABLE, KEYRING_VARIABLE, given_keys
from binx.source.remote import is_uri

if TYPE_CHECKING:
    from binx.log.scanning import Resumption
    from binx.source.keyring import ReplicationKeys


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The location of a log as found by the driver."""

    path: str
    identity: str
    others: tuple[str, ...] = ()
    joined_size: int | None = None

    @classmethod
    def of(cls, file: BinlogFile) -> Self:
        """Return the location of an open log."""
        path = _absolute(file.path)
        if not isinstance(file.source, JoinedSource):
            return cls(path, file.identity)
        others = tuple(_absolute(source.path) for source in file.source.others)
        return cls(path, file.identity, others, file.source.size)

    @contextmanager
    def opened(self, keys: ReplicationKeys | None, least: int) -> Iterator[BinlogFile]:
        """Open the log."""
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


@dataclass(frozen=True, slots=True)
class TaskLog:
    """A log to be exported by a task, with the keys named in the driver's environment."""

    place: LogPlace
    size: int
    resumption: Resumption | None
    keyrings: tuple[str, ...]
    key_file: str | None
    identities: tuple[str, ...]

    @classmethod
    def of(cls, file: BinlogFile) -> TaskLog:
        """Return what a task needs to open this log."""
        paths = (
            tuple(path for path in os.environ.get(name, "").split(os.pathsep) if path)
            for name in (KEYRING_VARIABLE, IDENTITY_VARIABLE)
        )
        keyrings, identities = paths
        key_file = os.environ.get(KEY_FILE_VARIABLE)
        return cls(LogPlace.of(file), file.size, file.resumption, keyrings, key_file, identities)

    @contextmanager
    def opened(self) -> Iterator[BinlogFile]:
        """Open the log."""
        keys = None
        if self.keyrings or self.key_file is not None or self.identities:
            keys = given_keys(self.keyrings, self.key_file, self.identities)
        with self.place.opened(keys, self.size) as file:
            file.resumption = self.resumption
            yield file


def _absolute(path: str) -> str:
    return path if is_uri(path) else str(Path(path).absolute())
