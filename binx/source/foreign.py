"""Name files that are often taken for binary logs, by their first bytes, and say what to do with them.

Sources: the xz file format 2.1.1.1; LZ4 frame format 1.6.x, "Magic Number"; bzip2's ``compress.c``
(``BZ2_compressBlock``); PKWARE's APPNOTE.TXT 4.3.7; POSIX pax, "ustar Interchange Format"; Apache Parquet's
README, "File format". MySQL's client/mysqldump.cc (``write_header``) and client/mysqlbinlog.cc, MariaDB's
client/mysqldump.cc (the sandbox comment); MySQL's storage/innobase/include/fil0types.h and fsp0fsp.h (page
and tablespace headers) and log0constants.h (``LOG_HEADER_CREATOR``); MariaDB's
storage/innobase/include/log0log.h (``FORMAT_10_8``), innodb_binlog.h (``IBB_MAGIC``) and sql/gtid_index.cc
(``GTID_INDEX_MAGIC``).
"""

from __future__ import annotations

HEAD_SIZE = 512
"""Bytes at the beginning of a file that suffice to name it."""

_DUMP = (
    "an SQL dump",
    "binx base takes its rows into a data set, and --schema its table definitions",
)
_PRINTED = (
    "text that mysqlbinlog or mariadb-binlog printed",
    "give the binary log that it was printed from",
)
_BEGINNINGS = (
    (b"\xfd7zXZ\x00", "an xz file", "decompress it: xz -dk FILE"),
    (b"\x04\x22\x4d\x18", "an lz4 file", "decompress it: lz4 -dk FILE"),
    (b"BZh", "a bzip2 file", "decompress it: bzip2 -dk FILE"),
    (b"PK\x03\x04", "a zip archive", "unpack the logs in it: unzip FILE"),
    (b"PAR1", "a Parquet file", "binx query, state and load take the folder of a data set"),
    (b"-- MySQL dump", *_DUMP),
    (b"-- MariaDB dump", *_DUMP),
    (b"/*M!999999", *_DUMP),
    (b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/", *_PRINTED),
    (b"# The proper term is pseudo_replica_mode", *_PRINTED),
    (b"\xfe\xfe\x0c\x01", "MariaDB's GTID index of a binary log", "give the log, whose name lacks .idx"),
    (
        b"\xfe\xfe\x0d\x01",
        "a binary log that MariaDB keeps in InnoDB (binlog_storage_engine=innodb)",
        "binx does not read its pages; have mariadb-binlog of the server's version make a log of all of its"
        " .ibb files, in order (--convert-engine-binlog --result-file=NAME, MDEV-37605), or print them",
    ),
)
_TAR = (b"ustar", 257)
_REDO_CREATORS = (b"MySQL ", b"MariaDB ")
_CREATOR_OFFSET = 16
_PAGE_NUMBER = slice(4, 8)
_PAGE_TYPE = slice(24, 26)
_FSP_HEADER = b"\x00\x08"
_PAGE_SPACE = slice(34, 38)
_HEADER_SPACE = slice(38, 42)
_GIVE_LOGS = "give the server's binary logs; SHOW BINARY LOGS lists them"


def describe(head: bytes) -> str | None:
    """Return what a file is and what to do with it; None if its beginning is none of a known format.

    Args:
        head: its first :data:`HEAD_SIZE` bytes; fewer if it is shorter.
    """
    for beginning, name, advice in _BEGINNINGS:
        if head.startswith(beginning):
            return f"{name}; {advice}"
    if head.startswith(*_TAR):
        return "a tar archive; unpack the logs in it: tar -xf FILE"
    if head.startswith(_REDO_CREATORS, _CREATOR_OFFSET):
        return f"an InnoDB redo log; {_GIVE_LOGS}"
    if (
        head[_PAGE_TYPE] == _FSP_HEADER
        and not any(head[_PAGE_NUMBER])
        and head[_PAGE_SPACE] == head[_HEADER_SPACE]
    ):
        return f"an InnoDB tablespace (.ibd, ibdata1); {_GIVE_LOGS}"
    return None
