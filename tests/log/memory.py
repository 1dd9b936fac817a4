"""Binary logs in memory, so that thousands of damaged ones can be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scanning import Ending


class Bytes:
    """A source whose bytes are at hand."""

    def __init__(self, data: bytes, name: str = "memory.000001") -> None:
        self._data = data
        self.name = self.path = name
        self.size = len(data)

    def window(self, start: int, stop: int) -> memoryview:
        return memoryview(self._data)[start:stop]

    def release(self, start: int, stop: int) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class Reading:
    """What came of reading a log: its transactions, and how it ended or failed."""

    transactions: list[tuple[int, ...]] = field(default_factory=list)
    ending: Ending | None = None
    unfinished: int = 0
    error: BinxError | None = None


FIELDS = ("start", "end", "kind", "number", "commit_timestamp", "server_id")


def read(data: bytes, level: Level, *, verify: bool = True) -> Reading:
    """Read a log to its end or to its first damage; any error but BinxError goes through."""
    reading = Reading()
    try:
        scan = BinlogFile(Bytes(data)).scan(level, verify=verify)
        for table in scan:
            reading.transactions += [
                tuple(table.value(name, index) for name in FIELDS) for index in range(len(table))
            ]
        reading.ending, reading.unfinished = scan.ending, scan.unfinished
    except BinxError as error:
        reading.error = error
    return reading
