"""What binx reads of a log, next to what the server's reader prints of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from testdata.compare import as_integers
from testdata.servers import Server
from tests.dataset.current_state import ORDER
from tests.live.listing import Change, Transaction, Value, read_listing
from tests.live.printed import printed
from tests.live.state import SYSTEM

MOST_REPORTED = 20

Read = tuple[tuple[str, str], str, list[LogicalType], list[str], dict[str, Any]]
"""A row image: table, change type, the columns' types and names, all values."""


def compare_with_listing(server: Server, path: Path, catalog: Catalog, seen: set[str]) -> list[str]:
    """Compare one log; returns a line for each difference, up to some.

    Args:
        server: whose reader prints the log.
        path: the log.
        catalog: the tables known so far; moved on.
        seen: takes in what was compared: each kind of column, and ``skipped``.
    """
    mariadb = server.daemon == "mariadbd"
    listing = server.mysqlbinlog("-vv", "--base64-output=decode-rows", path)
    theirs = read_listing(listing, path.stat().st_size)
    differences: list[str] = []
    with BinlogFile.open(str(path)) as file:
        decoder = ChangeDecoder(
            file, catalog, options=DecoderOptions(arrow=ArrowOptions(raw_text=True), undone=True)
        )
        ours: list[Transaction] = []
        images: dict[int, list[tuple[tuple[int, int], Read]]] = defaultdict(list)
        for table in file.scan(Level.LEVEL_TABLES):
            for index in range(len(table)):
                ours.append(
                    Transaction(table.value("start", index), table.value("end", index), table.gtid(index))
                )
            for item in [*decoder.decode(table, table.mask()), *decoder.flush()]:
                if isinstance(item, ChangeBatch):
                    for version, order, image in _images(item):
                        images[version].append((order, image))
        for batch in decoder.finish():
            for version, order, image in _images(batch):
                images[version].append((order, image))
        where = [(one.start, one.end, one.gtid) for one in ours]
        wanted = [(one.start, one.end, one.gtid) for one in theirs]
        if where != wanted:
            pairs = [(w, o) for w, o in zip(wanted, where, strict=False) if w != o]
            return [f"{path.name}: transactions {pairs[:3]} of {len(wanted)} printed, {len(where)} read"]
        for one in theirs:
            rows = [
                image for _, image in sorted(images[file.commit_version(one.start)], key=lambda pair: pair[0])
            ]
            differences += _compare_rows(f"{path.name} at {one.start}", one.changes, rows, mariadb, seen)
            if len(differences) >= MOST_REPORTED:
                break
    return differences


def _images(item: ChangeBatch) -> Iterator[tuple[int, tuple[int, int], Read]]:
    batch = item.batch
    names = [name for name in batch.schema.names if name not in SYSTEM]
    types = [column.type for column in item.table.resolved.columns]
    columns = {}
    for name in batch.schema.names:
        column = batch.column(name)
        columns[name] = as_integers(column).to_pylist()
    for row in range(batch.num_rows):
        values = {name: columns[name][row] for name in columns}
        change = values["_change_type"]
        order = (values["_row"], ORDER[change])
        yield (
            values["_commit_version"],
            order,
            ((item.table.db, item.table.name), change, types, names, values),
        )


def _compare_rows(
    where: str, changes: list[Change], images: list[Read], mariadb: bool, seen: set[str]
) -> list[str]:
    """Compare the row changes of one transaction."""
    if not mariadb:
        # MySQL's reader stops a row event at its first GEOMETRY value.
        shapes = {read[0] for read in images if any(column.kind is Kind.GEOMETRY for column in read[2])}
        changes = [change for change in changes if change.table not in shapes]
        images = [read for read in images if read[0] not in shapes]
    differences: list[str] = []
    place = 0
    for number, change in enumerate(changes):
        for values, part in ((change.before, "before"), (change.after, "after")):
            if (part == "before" and change.operation == "insert") or (
                part == "after" and change.operation == "delete"
            ):
                continue
            if place >= len(images):
                return [
                    *differences,
                    f"{where}: row change {number} {change.table} {change.operation} is not read",
                ]
            read = images[place]
            place += 1
            expected = {"insert": "insert", "delete": "delete"}.get(
                change.operation, "update_preimage" if part == "before" else "update_postimage"
            )
            if (read[0], read[1]) != (change.table, expected):
                found = f"{read[0]} {read[1]}"
                return [
                    *differences,
                    f"{where}: row change {number} is {change.table} {expected}, read as {found}",
                ]
            differences += _compare_values(
                f"{where}: row change {number} {change.table} {part}", values, read, mariadb, seen
            )
    if place < len(images):
        differences.append(f"{where}: {len(images) - place} images are read that are not printed")
    return differences


def _compare_values(
    where: str, values: dict[int, Value], read: Read, mariadb: bool, seen: set[str]
) -> list[str]:
    _, _, types, names, row = read
    misfits = dict(row.get("_misfits") or [])
    present = row["_present"]
    differences = []
    for place, (name, column) in enumerate(zip(names, types, strict=True)):
        there = present is None or bool(present[place // 8] >> (place % 8) & 1)
        value = values.get(place + 1)
        if value is None:
            if there and not (column.kind is Kind.JSON and not mariadb):
                differences.append(
                    f"{where}: column {place + 1} {name!r} is not printed, read as {row[name]!r}"
                )
            continue
        if not there:
            differences.append(f"{where}: column {place + 1} {name!r} is {value.text!r}, read as absent")
            continue
        ours = printed(row[name], misfits.get(name), column, value.type, mariadb=mariadb)
        if ours is None:
            seen.add("skipped")
        else:
            seen.add(column.kind.value)
            if ours.rstrip() != value.text.rstrip():
                differences.append(
                    f"{where}: column {place + 1} {name!r} ({column.base}, {value.type}) is"
                    f" {value.text[:200]!r}, read as {ours[:200]!r}"
                )
    return differences
