"""The state at a log's end, kept in the data set so that a later export can continue from it.

If a log was read to its end, its manifest's ``behind`` holds what the next log needs: the tables, the epoch,
and the number of the next transaction. Exporting logs one at a time thus gives the same result as exporting
all of them at once. The state is used only for the log that the server wrote directly after, checked by the
ROTATE event, the times and the GTIDs of both: after a gap, a table may have been redefined, and outdated
definitions would be recorded as facts.
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
"""Largest difference in seconds between a ROTATE and the next log's beginning; servers stamp both alike."""

_NUMBER_DIGITS = 6
_LEVEL = 6


class ChainState:
    """The position of the next transaction in the chain.

    Attributes:
        epoch: number of logs, up to here, that began with a server start.
        seqno: number of the next transaction, from 1.
    """

    def __init__(self, epoch: int = 0, seqno: int = 1) -> None:
        self.epoch = epoch
        self.seqno = seqno


class Beginning(NamedTuple):
    """The initial state of an export.

    Attributes:
        previous: the log that the export continues from, if the data set has it.
    """

    catalog: Catalog | None
    state: ChainState
    previous: str | None = None


def behind_record(
    file: BinlogFile, catalog: Catalog, state: ChainState, rules: PersonalData | None
) -> tuple[dict[str, Any], tuple[str, bytes] | None]:
    """Return the manifest's ``behind``, and path and bytes of the record of known tables.

    The record is named by its content, so logs that change no table share it.
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
    """Return the path of a record of tables, relative to the data set."""
    return f"schemas/tables-{hashlib.sha256(record).hexdigest()[:16]}.json.gz"


def find_beginning(
    folder: str, files: Sequence[BinlogFile], catalog: Catalog | None, rules: PersonalData | None
) -> Beginning:
    """Find the initial state of an export: the given tables, or the end of the previous log if exported.

    Raises:
        UsageError: the folder is a URI of an unknown file system, or the previous log used another key.
        OutputError: the record of the previous log cannot be read.
        SourceError: the data set cannot be read.
    """
    beginning = find_continuation(open_store(folder), files[0], rules) if catalog is None and files else None
    return beginning or Beginning(catalog, ChainState())


def find_continuation(store: Store, file: BinlogFile, rules: PersonalData | None = None) -> Beginning | None:
    """Return the state at the end of the previous log; None if the data set does not have that log.

    Raises:
        OutputError: the manifest or the table record of the previous log cannot be read.
        SourceError: the data set cannot be read.
        UsageError: ENUM or SET members in the record are sealed with another key.
    """
    name = _name_before(file)
    if name is None:
        return None
    ends = known_ends(file)
    prefix = f"{escape_name(name)}."
    for is_same_id in (True, False):
        for manifest_name in store.names(MANIFESTS):
            if not (manifest_name.startswith(prefix) and manifest_name.endswith(".json")):
                continue
            path = f"{MANIFESTS}/{manifest_name}"
            try:
                beginning = _end_state(store, _read(store, path), ends, rules, is_same_id=is_same_id)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
                raise OutputError(
                    f"its record of the previous log cannot be read: {error}; delete it and export its"
                    " log again",
                    path=store.path(path).partition("?")[0],
                ) from error
            if beginning is not None:
                return beginning
    return None


def _name_before(file: BinlogFile) -> str | None:
    """Return the name of the previous log; None for the first log or a name without number."""
    base, dot, number = file.name.rpartition(".")
    if not dot or not number.isdecimal() or int(number) < 2:
        return None
    return f"{base}.{int(number) - 1:0{_NUMBER_DIGITS}d}"


def _read(store: Store, path: str) -> dict[str, Any]:
    text = store.read(path)
    document: dict[str, Any] = {} if text is None else json.loads(text)
    return document


def _end_state(
    store: Store, manifest: dict[str, Any], ends: FileEnds, rules: PersonalData | None, *, is_same_id: bool
) -> Beginning | None:
    """Return a manifest's end state, if the log with these ends follows directly."""
    end, source = manifest.get("behind"), manifest.get("source")
    if end is None or source is None or not _follows(manifest, source, end, ends):
        return None
    # The server id may change between two logs; then GTIDs must prove that they belong to one chain.
    if (source["server_id"] == ends.file.format.server_id) is not is_same_id:
        return None
    if not is_same_id and not _gtids_before(ends):
        return None
    catalog = Catalog()
    if end["tables"] is not None:
        data = store.read(end["tables"])
        if data is None:
            return None
        record = zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)
        if _path_of(record) != end["tables"]:
            raise ValueError(f"{end['tables']} is not what was written")
        catalog = unsealed_catalog(record, rules)
    state = ChainState(int(end["epoch"]), int(end["seqno"]))
    return Beginning(catalog, state, str(source["name"]))


def _follows(manifest: dict[str, Any], source: dict[str, Any], end: dict[str, Any], ends: FileEnds) -> bool:
    """Whether the server wrote a log directly after another one."""
    description = ends.file.format
    if source["flavour"] != description.flavour.value:
        return False
    if end["ended"] is None:
        # The server crashed or is still writing the log: only GTIDs prove that the export covered all of it.
        follows = description.at_startup and bool(manifest["gtid_set"]) and ends.previous_gtids is not None
        follows = follows and not _is_selected(manifest)
    elif end["next"] is None:
        # The server was shut down: the next log begins at its next start, at any later time.
        follows = description.at_startup and ends.begun >= end["ended"] - _TOLERANCE
    else:
        name = ends.file.name
        follows = is_named_next(end["next"], _name_before(ends.file) or "", name)
        follows = follows and (not end["ended"] or abs(ends.begun - end["ended"]) <= _TOLERANCE)
    return follows and _gtids_follow(manifest, end["gtids_before"], ends)


def _gtids_follow(manifest: dict[str, Any], before: str | None, ends: FileEnds) -> bool:
    """Whether the GTIDs before a log are those before the other log plus those in it."""
    now = _gtids_before(ends)
    if before is None or now is None:
        return before == now
    if ends.previous_gtids is None:
        last = dict(entry.rsplit("-", 1) for entry in now.split(",") if entry)
        return all(
            int(last.get(origin, -1)) >= int(number)
            for origin, number in (entry.rsplit("-", 1) for entry in before.split(",") if entry)
        )
    known = GtidSet.parse(before)
    if _is_selected(manifest):
        return known.issubset(ends.previous_gtids)
    return (known | GtidSet.parse(manifest["gtid_set"])) == ends.previous_gtids


def _is_selected(manifest: dict[str, Any]) -> bool:
    """Whether only a selection of the log's transactions was exported."""
    request = manifest["request"]
    return bool(request["selection"]) or request.get("where") is not None


def _gtids_before(ends: FileEnds) -> str | None:
    """The GTIDs before a log, from its PREVIOUS_GTIDS or GTID_LIST event; None without either."""
    if ends.previous_gtids is not None:
        return str(ends.previous_gtids)
    return None if ends.gtid_list is None else ",".join(map(str, ends.gtid_list))
