"""The manifest: what one source's part of a data set holds, and the sums that prove it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from binx import __version__
from binx.dataset.dataset import WrittenFile
from binx.errors import DamagedError
from binx.log.file import BinlogFile

CONTRACT = 1
"""The version of a data set: readers refuse one that they do not know."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TableSums:
    """The conservation sum of one table.

    Attributes:
        images: row images in the binary log, counted by the scan.
        written: rows in Parquet, counted by their writer.
        filtered: row images that the selection left out, counted by the decoder and by the mask.
        undecodable: row images that could not be decoded.
        uncounted: rows events whose images nobody can count, as the size of a column is not known; none of
            them is among the images.
    """

    def __init__(self) -> None:
        self.uncounted = 0
        self.images = 0
        self.written = 0
        self.filtered = 0
        self.undecodable = 0


class Sums:
    """Counts of a source, by (db, table).

    Attributes:
        conservation: row images and what became of them.
        changes: inserts, updates and deletes of the transactions taken.
        first: first commit version and earliest commit time taken, None where there is none.
        last: last commit version taken and latest commit time.
    """

    def __init__(self) -> None:
        self.conservation: dict[tuple[str, str], TableSums] = {}
        self.changes: dict[tuple[str, str], list[int]] = {}
        self.first: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None

    def of(self, table: tuple[str, str]) -> TableSums:
        """One table's conservation sum."""
        sums = self.conservation.get(table)
        if sums is None:
            sums = self.conservation[table] = TableSums()
        return sums

    def saw(self, first: int, last: int, earliest: int, latest: int) -> None:
        """Take in the commit versions and times that a batch of transactions spans."""
        self.first = (
            (first, earliest) if self.first is None else (self.first[0], min(self.first[1], earliest))
        )
        self.last = (last, latest if self.last is None else max(self.last[1], latest))

    def check(self, path: str) -> None:
        """Compare what went in with what came out.

        Raises:
            DamagedError: the counts of scan and decoder disagree for a table; nothing must be committed.
        """
        for (db, table), sums in self.conservation.items():
            accounted = sums.written + sums.filtered + sums.undecodable
            if sums.images != accounted:
                raise DamagedError(
                    f"expected {sums.images} row images of {db}.{table}, found {sums.written} written,"
                    f" {sums.filtered} filtered and {sums.undecodable} undecodable;"
                    " nothing is committed, please report this as a bug",
                    path=path,
                )


def source_record(file: BinlogFile, sha256: str, ending: str) -> dict[str, Any]:
    """What the manifest says of the binary log itself."""
    description = file.format
    return {
        "name": file.name,
        "identity": file.identity,
        "file_number": file.file_number,
        "bytes": file.size,
        "sha256": sha256,
        "server_id": description.server_id,
        "server_version": description.server_version,
        "flavour": description.flavour.value,
        "create_timestamp": description.create_timestamp,
        "header_timestamp": description.header_timestamp,
        "in_use": description.in_use,
        "ending": ending,
    }


def manifest(
    source: Mapping[str, Any],
    request: Mapping[str, Any],
    gtid_set: str,
    sums: Sums,
    files: list[dict[str, Any]],
    losses: list[str],
    warnings: list[str],
    damage: list[dict[str, Any]],
    behind: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The whole document."""
    first, last = sums.first, sums.last
    return {
        "contract": CONTRACT,
        "binx": __version__,
        "source": dict(source),
        "request": dict(request),
        "gtid_set": gtid_set,
        "first_commit_version": None if first is None else first[0],
        "last_commit_version": None if last is None else last[0],
        "first_commit_timestamp": None if first is None else _time(first[1]),
        "last_commit_timestamp": None if last is None else _time(last[1]),
        "files": files,
        "tables": [
            {"db": db, "table": table, "inserts": counts[0], "updates": counts[1], "deletes": counts[2]}
            for (db, table), counts in sorted(sums.changes.items())
        ],
        "conservation": [
            {
                "db": db,
                "table": table,
                "images": counted.images,
                "written": counted.written,
                "filtered": counted.filtered,
                "undecodable": counted.undecodable,
                **({"uncounted": counted.uncounted} if counted.uncounted else {}),
            }
            for (db, table), counted in sorted(sums.conservation.items())
        ],
        "damage": damage,
        "losses": losses,
        "warnings": warnings,
        **({} if behind is None else {"behind": dict(behind)}),
    }


def file_entry(written: WrittenFile, kind: str, **facts: object) -> dict[str, Any]:
    """One line of the manifest's list of files."""
    return {"path": written.path, "kind": kind, "bytes": written.bytes, "sha256": written.sha256, **facts}


def _time(microseconds: int) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
