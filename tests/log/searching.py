"""Logs in memory, what the servers' listings say of transactions, and searches through the shop's logs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.scan import Scan
from binx.log.scanning import Ending
from binx.log.selection.selection import Selection, Selector, required_level
from tests.conftest import TESTDATA

SMALL = TESTDATA / "mysql-9.7/small"


@dataclass
class Found:
    """What a search took: name of the file, start, end and GTID; and how far it went."""

    transactions: list[tuple[str, int, int, str | None]]
    selector: Selector
    searched: list[str]

    @property
    def gtids(self) -> list[str | None]:
        return [gtid for _, _, _, gtid in self.transactions]


def search(selection: Selection, paths: list[Path], *, level: Level | None = None) -> Found:
    found = Found([], Selector(selection, [path.name for path in paths]), [])
    for path in paths:
        with BinlogFile.open(str(path)) as file:
            if found.selector.rules_out(file, ChainLog.of(file).facts.previous_gtids):
                continue
            found.searched.append(file.name)
            scan = Scan(file, required_level(selection) if level is None else level)
            for table in scan:
                for index in table.marked(found.selector.mask(file, scan, table)):
                    found.transactions.append(
                        (file.name, table.value("start", index), table.value("end", index), table.gtid(index))
                    )
                if found.selector.complete:
                    return found
    return found


def demo(server: str) -> dict[str, str | int]:
    wanted: dict[str, str | int] = json.loads((TESTDATA / server / "shop" / "demo.json").read_text())
    return wanted


def gtid_of(server: str, number: int) -> str:
    """The GTID of one of the shop's transactions."""
    return f"{str(demo(server)['gtid']).rpartition(':' if server.startswith('mysql') else '-')[0]}" + (
        f":{number}" if server.startswith("mysql") else f"-{number}"
    )


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
        scan = Scan(BinlogFile(Bytes(data)), level, verify=verify)
        for table in scan:
            reading.transactions += [
                tuple(table.value(name, index) for name in FIELDS) for index in range(len(table))
            ]
        reading.ending, reading.unfinished = scan.ending, scan.unfinished
    except BinxError as error:
        reading.error = error
    return reading


_MYSQL = re.compile(
    r"^# at (?P<start>\d+)\n"
    r"#.* server id (?P<server_id>\d+) .*\t(?:Anonymous_)?GTID\t"
    r"last_committed=(?P<last_committed>\d+)\tsequence_number=(?P<sequence_number>\d+)\t.*"
    r"original_committed_timestamp=(?P<original>\d+)\timmediate_commit_timestamp=(?P<immediate>\d+)\t"
    r"transaction_length=(?P<length>\d+)$",
    re.MULTILINE,
)
_MYSQL_GTID = re.compile(r"^SET @@SESSION\.GTID_NEXT= '([^']+)'", re.MULTILINE)
_MARIADB = re.compile(
    r"^# at (?P<start>\d+)\n#.* server id (?P<server_id>\d+) .*\tGTID (?P<gtid>\d+-\d+-\d+)", re.MULTILINE
)
_XID = re.compile(r"\tXid = (\d+)\nCOMMIT")
# Newer MariaDBs log it with the GTID, whose line the text goes on with.
_THREAD = re.compile(r"(?:\tQuery\t|\A.* )thread_id=(\d+)")


@dataclass(frozen=True)
class Listed:
    """One transaction of a listing; None where the listing does not say."""

    start: int
    server_id: int
    gtid: str | None
    xid: int | None
    thread_id: int | None
    last_committed: int | None = None
    sequence_number: int | None = None
    original: int | None = None
    immediate: int | None = None
    length: int | None = None


def listed_transactions(path: Path) -> list[Listed]:
    """The transactions of a listing, in its order."""
    text = path.read_text(encoding="utf-8", errors="replace")
    found = list(_MYSQL.finditer(text)) or list(_MARIADB.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [_listed(match, text[match.end() : end]) for match, end in zip(found, ends, strict=True)]


def _listed(match: re.Match[str], text: str) -> Listed:
    numbers = {name: int(value) for name, value in match.groupdict().items() if name != "gtid"}
    xid, thread = _XID.search(text), _THREAD.search(text)
    if "gtid" in match.groupdict():
        gtid: str | None = match["gtid"]
    else:
        named = _MYSQL_GTID.search(text)
        gtid = None if named is None or named[1] == "ANONYMOUS" else named[1]
    return Listed(
        gtid=gtid,
        xid=int(xid[1]) if xid else None,
        thread_id=int(thread[1]) if thread else None,
        **numbers,
    )
