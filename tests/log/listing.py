"""What the listings of mysqlbinlog and mariadb-binlog (``-vv``) say of each transaction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

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
_THREAD = re.compile(r"\tQuery\tthread_id=(\d+)")


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
