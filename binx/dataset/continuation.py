"""What is known at a log's end, kept in the data set for the log that comes next.

A log whose end was read has in its manifest, under ``behind``, what the log that comes next must know: the
tables at its end, the epoch, the number of the next transaction. So logs that are exported one by one become
what they would be if all were given at once. It is taken only from the log that the server wrote right
before, which its ROTATE, the times and the GTIDs of both tell: behind a gap a table may be another one, and
what was true once would look like a fact.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from binx.dataset.dataset import escape_name
from binx.dataset.personal.rules import PersonalData
from binx.dataset.personal.statements import sealed_record, unsealed_catalog
from binx.errors import OutputError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.source.names import is_named_next
from binx.storage.store import MANIFESTS, Store, open_store

_TOLERANCE = 1
"""Seconds between a ROTATE and the beginning of the next log: servers give both the same time."""

_NUMBER_DIGITS = 6
_LEVEL = 6


class ChainState:
    """Where in the chain of the sources given the next transaction stands.

    Attributes:
        epoch: logs so far that a server began at its start.
        seqno: number of the next transaction, from 1.
    """

    def __init__(self, epoch: int = 0, seqno: int = 1) -> None:
        self.epoch = epoch
        self.seqno = seqno


class Beginning(NamedTuple):
    """What an export begins with.

    Attributes:
        behind: the log that it continues from, where the data set has that.
    """

    catalog: Catalog | None
    state: ChainState
    behind: str | None = None


def behind_record(
    file: BinlogFile, catalog: Catalog, state: ChainState, rules: PersonalData | None
) -> tuple[dict[str, Any], tuple[str, bytes] | None]:
    """What to leave for the log that comes next: for the manifest, and path and bytes of the tables known.

    The tables' record is called by its content: logs that change no table share it.
    """
    ends = known_ends(file)
    tables = None
    if len(catalog) or catalog.databases:
        record = sealed_record(catalog, rules)
        packer = zlib.compressobj(_LEVEL, wbits=16 + zlib.MAX_WBITS)
        tables = _path_of(record), packer.compress(record) + packer.flush()
    return {
        "next": ends.next_file,
        "ended": ends.ended,
        "gtids_before": _gtids_before(ends),
        "epoch": state.epoch,
        "seqno": state.seqno,
        "tables": None if tables is None else tables[0],
    }, tables


def _path_of(record: bytes) -> str:
    """Where a record of tables is below the data set's folder."""
    return f"schemas/tables-{hashlib.sha256(record).hexdigest()[:16]}.json.gz"


def find_beginning(
    folder: str, files: Sequence[BinlogFile], catalog: Catalog | None, rules: PersonalData | None
) -> Beginning:
    """Find where an export begins: with the given tables, or after the previous log if the data set has it.

    Raises:
        UsageError: the folder is a URI of an unknown file system, or the key is not that of the log before.
        OutputError: the record of the previous log cannot be read.
        SourceError: the data set cannot be read.
    """
    found = find_behind(open_store(folder), files[0], rules) if catalog is None and files else None
    return found or Beginning(catalog, ChainState())


def find_behind(store: Store, file: BinlogFile, rules: PersonalData | None = None) -> Beginning | None:
    """What a data set tells of the logs before one; None where it does not have the log right before.

    Raises:
        OutputError: the manifest or the record of the log before cannot be read.
        SourceError: the data set cannot be read.
        UsageError: members in the record are sealed with another key.
    """
    name = _name_before(file)
    if name is None:
        return None
    ends = known_ends(file)
    begins = f"{escape_name(name)}."
    for is_same_id in (True, False):
        for one in store.names(MANIFESTS):
            if not (one.startswith(begins) and one.endswith(".json")):
                continue
            path = f"{MANIFESTS}/{one}"
            try:
                found = _behind(store, _read(store, path), ends, rules, is_same_id=is_same_id)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
                raise OutputError(
                    f"its record of the previous log cannot be read: {error}; delete it and export its"
                    " log again",
                    path=store.path(path).partition("?")[0],
                ) from error
            if found is not None:
                return found
    return None


def _name_before(file: BinlogFile) -> str | None:
    """What the log is called that a server wrote before one; None where that is the first."""
    base, dot, number = file.name.rpartition(".")
    if not dot or not number.isdecimal() or int(number) < 2:
        return None
    return f"{base}.{int(number) - 1:0{_NUMBER_DIGITS}d}"


def _read(store: Store, path: str) -> dict[str, Any]:
    text = store.read(path)
    document: dict[str, Any] = {} if text is None else json.loads(text)
    return document


def _behind(
    store: Store, manifest: dict[str, Any], ends: FileEnds, rules: PersonalData | None, *, is_same_id: bool
) -> Beginning | None:
    """What a manifest says for a log, where that is the one right behind."""
    behind, source = manifest.get("behind"), manifest.get("source")
    if behind is None or source is None or not _follows(manifest, source, behind, ends):
        return None
    # A server's id may change between two logs: then GTIDs must say that they are of one chain.
    if (source["server_id"] == ends.file.format.server_id) is not is_same_id:
        return None
    if not is_same_id and not _gtids_before(ends):
        return None
    catalog = Catalog()
    if behind["tables"] is not None:
        data = store.read(behind["tables"])
        if data is None:
            return None
        record = zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)
        if _path_of(record) != behind["tables"]:
            raise ValueError(f"{behind['tables']} is not what was written")
        catalog = unsealed_catalog(record, rules)
    state = ChainState(int(behind["epoch"]), int(behind["seqno"]))
    return Beginning(catalog, state, str(source["name"]))


def _follows(
    manifest: dict[str, Any], source: dict[str, Any], behind: dict[str, Any], ends: FileEnds
) -> bool:
    """Whether a log is the one that its server wrote right behind another one."""
    description = ends.file.format
    if source["flavour"] != description.flavour.value:
        return False
    if behind["ended"] is None:
        # The server died, or goes on writing it: then only GTIDs tell that the export had all of it.
        follows = description.at_startup and bool(manifest["gtid_set"]) and ends.previous_gtids is not None
        follows = follows and not _is_selected(manifest)
    elif behind["next"] is None:
        # The server was stopped: the next log is of its next start, whenever that was.
        follows = description.at_startup and ends.begun >= behind["ended"] - _TOLERANCE
    else:
        name = ends.file.name
        follows = is_named_next(behind["next"], _name_before(ends.file) or "", name)
        follows = follows and abs(ends.begun - behind["ended"]) <= _TOLERANCE
    return follows and _gtids_follow(manifest, behind["gtids_before"], ends)


def _gtids_follow(manifest: dict[str, Any], before: str | None, ends: FileEnds) -> bool:
    """Whether the GTIDs before a log are those before another one and those in it."""
    now = _gtids_before(ends)
    if before is None or now is None:
        return before == now
    if ends.previous_gtids is None:
        last = dict(entry.rsplit("-", 1) for entry in now.split(",") if entry)
        return all(
            int(last.get(place, -1)) >= int(number)
            for place, number in (entry.rsplit("-", 1) for entry in before.split(",") if entry)
        )
    known = GtidSet.parse(before)
    if _is_selected(manifest):
        return known.issubset(ends.previous_gtids)
    return (known | GtidSet.parse(manifest["gtid_set"])) == ends.previous_gtids


def _is_selected(manifest: dict[str, Any]) -> bool:
    """Whether not all transactions of the log were exported."""
    request = manifest["request"]
    return bool(request["selection"]) or request.get("where") is not None


def _gtids_before(ends: FileEnds) -> str | None:
    """The GTIDs before a log, as it says itself; None where it does not."""
    if ends.previous_gtids is not None:
        return str(ends.previous_gtids)
    return None if ends.gtid_list is None else ",".join(map(str, ends.gtid_list))
