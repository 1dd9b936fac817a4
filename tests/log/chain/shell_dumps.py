"""Folders as MySQL Shell's util.dumpBinlogs() writes them, made of logs; after its modules/util/binlog."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import zstandard

from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import gtids_of
from binx.log.scan import Scan
from tests.log.building import split

HEADER = struct.Struct("<IBIIIH")
EXTENSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}
SHELL = {
    "dumper": "mysqlsh Ver 9.6.0 for Linux on x86_64 - for MySQL 9.6.0 (MySQL Community Server (GPL))",
    "version": "2.0.1",
    "origin": "dumpBinlogs",
    "timestamp": "2026-11-21 10:00:00",
    "source": {"version": "9.7.0"},
}


def format_sent(log: bytes) -> bytes:
    """The format description that a server sends before events from the middle of a log."""
    event = bytearray(split(log, 4)[0])
    struct.pack_into("<I", event, 13, 0)
    # When the log was created: 0, so that replicas keep their temporary tables.
    struct.pack_into("<I", event, 19 + 52, 0)
    struct.pack_into("<I", event, len(event) - 4, zlib.crc32(event[:-4]))
    return bytes(event)


def compressed(data: bytes, compression: str) -> bytes:
    if compression == "zstd":
        return zstandard.ZstdCompressor().compress(data)
    return gzip.compress(data) if compression == "gzip" else data


def write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=4), "utf-8")


def dump(
    root: Path,
    name: str,
    logs: Sequence[Path],
    *,
    start: int = 0,
    end: int | None = None,
    compression: str = "zstd",
) -> Path:
    """Write a dump of logs: of the first from ``start`` on, of the last up to ``end``."""
    folder = root / name
    folder.mkdir(parents=True)
    if not (root / "@.binlog.info.json").exists():
        write(root / "@.binlog.info.json", SHELL)
    gtids: list[str] = []
    for number, path in enumerate(logs):
        log = path.read_bytes()
        first, last = start if number == 0 else 0, end if number == len(logs) - 1 else None
        stop = len(log) if last is None else last
        data = log[:4] + format_sent(log) + log[first:stop] if first else log[:stop]
        file = folder / f"{path.name}{EXTENSIONS[compression]}"
        file.write_bytes(compressed(data, compression))
        plain = folder.parent / "plain"
        plain.write_bytes(data)
        with BinlogFile.open(str(plain)) as opened:
            gtids.append(str(gtids_of(Scan(opened))))
        plain.unlink()
        about = {
            "binlog": path.name,
            **({"startPosition": first} if first else {}),
            **({"endPosition": last} if last else {}),
            "extension": EXTENSIONS[compression],
            "compression": compression,
            "gtidSet": gtids[-1],
            "dataBytes": len(data),
            "fileBytes": file.stat().st_size,
            "eventCount": len(split(data, 4)),
            "begin": "2026-11-21 10:00:00",
            "end": "2026-11-21 10:00:01",
        }
        write(folder / f"{path.name}.json", about)
    places = {"file": logs[0].name, "position": start, "gtidExecuted": ""}
    names = [path.name for path in logs]
    about_dump = {
        "startFrom": places,
        "endAt": places | {"file": logs[-1].name, "position": end},
        "gtidSet": ",".join(gtids),
        "binlogs": names,
        "basenames": dict(zip(names, names, strict=True)),
    }
    write(folder / "@.binlog.json", SHELL | about_dump)
    write(folder / "@.binlog.done.json", {"timestamp": "2026-11-21 10:00:02"})
    return folder
