"""The state at a log's end, kept in the data set so that a later export can continue from it.

If a log was read to its end, its manifest's ``behind`` holds what the next log needs: the tables, the epoch,
and the number of the next transaction. Exporting logs one at a time thus gives the same result as exporting
all of them at once. The state is used only for the log that the server wrote directly after, checked by the
ROTATE event, the times and the GTIDs of both: after a gap, a table may have been redefined, and outdated
definitions would be recorded as facts.

``before`` holds the same of a log's own beginning, so that a log that is listed again begins as it did, where
tables were given for it or the log before it has left the data set.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from binx.dataset.dataset import escape_name, manifest_name
from binx.dataset.personal.masked_statements import sealed_record, unsealed_catalog
from binx.dataset.personal.rules import PersonalData
from binx.dataset.predecessors import ChainPlace, packed, source_name
from binx.errors import OutputError
from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.chain.ends import known_facts
from binx.log.succession import LogFacts, is_next
from binx.rows.ddl.catalog import Catalog
from binx.source.log_names import next_name, number_of
from binx.storage.store import MANIFESTS, Store, open_store

_LEVEL = 6
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error)


class ChainState:
    """The position of the next transaction in the chain.

    Attributes:
        epoch: number of logs, up to here, that began with a server start.
        seqno: number of the next transaction, from 1.
        is_given: whether tables were given for the log that begins here.
    """

    def __init__(self, epoch: int = 0, seqno: int = 1, *, is_given: bool = False) -> None:
        self.epoch = epoch
        self.seqno = seqno
        self.is_given = is_given


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
    facts = known_facts(file)
    tables = _packed_tables(catalog, rules)
    return {
        "next": facts.next_log,
        "ended": facts.ended,
        "gtids_before": None if facts.gtids_before is None else str(facts.gtids_before),
        "epoch": state.epoch,
        "seqno": state.seqno,
        "tables": None if tables is None else tables[0],
    }, tables


def before_record(
    catalog: Catalog, state: ChainState, rules: PersonalData | None
) -> tuple[dict[str, Any], tuple[str, bytes] | None]:
    """Return the manifest's ``before``, and path and bytes of the record of known tables."""
    tables = _packed_tables(catalog, rules)
    return {
        "given": state.is_given,
        "epoch": state.epoch,
        "seqno": state.seqno,
        "tables": None if tables is None else tables[0],
    }, tables


def _packed_tables(catalog: Catalog, rules: PersonalData | None) -> tuple[str, bytes] | None:
    if not len(catalog) and not catalog.databases:
        return None
    record = sealed_record(catalog, rules)
    packer = zlib.compressobj(_LEVEL, wbits=16 + zlib.MAX_WBITS)
    return _path_of(record), packer.compress(record) + packer.flush()


def _path_of(record: bytes) -> str:
    """Return the path of a record of tables, relative to the data set."""
    return f"schemas/tables-{hashlib.sha256(record).hexdigest()[:16]}.json.gz"


def find_beginning(
    folder: str, files: Sequence[BinlogFile], catalog: Catalog | None, rules: PersonalData | None
) -> Beginning:
    """Find the initial state of an export.

    That is the given tables, or the end of the previous log if it was exported, or what the first log began
    with when it was exported before.

    Raises:
        UsageError: the folder is a URI of an unknown file system, or the previous log used another key.
        OutputError: the record of the previous log cannot be read.
        SourceError: the data set cannot be read.
    """
    if catalog is not None or not files:
        return Beginning(catalog, ChainState(is_given=catalog is not None))
    store = open_store(folder)
    return (
        find_continuation(store, files[0], rules)
        or find_beginning_before(store, files[0], rules)
        or Beginning(None, ChainState())
    )


def find_beginning_before(
    store: Store, file: BinlogFile, rules: PersonalData | None, *, given: bool = False
) -> Beginning | None:
    """Return what a log began with when it was exported; None if the data set does not have it.

    Args:
        given: whether only tables that were given are looked for.

    Raises:
        OutputError: its manifest or the table record cannot be read.
        SourceError: the data set cannot be read.
        UsageError: ENUM or SET members in the record are sealed with another key.
    """
    path = manifest_name(source_name(file))
    try:
        before = _read(store, path).get("before")
        if before is None or (given and not before["given"]):
            return None
        catalog = _recorded_tables(store, before["tables"], rules)
        if catalog is None:
            return None
        state = ChainState(int(before["epoch"]), int(before["seqno"]), is_given=bool(before["given"]))
    except _UNREADABLE as error:
        raise OutputError(
            f"its record of how the log began cannot be read: {error}; delete it to export the log again",
            path=store.path(path).partition("?")[0],
        ) from error
    return Beginning(catalog, state)


def place_of(store: Store, file: BinlogFile, place: ChainPlace, rules: PersonalData | None) -> ChainPlace:
    """Return a log's place in the chain, with the tables that were given for it when it was exported.

    Raises:
        OutputError, SourceError, UsageError: as :func:`find_beginning_before`.
    """
    before = find_beginning_before(store, file, rules, given=True)
    if before is None or before.catalog is None:
        return place
    return place._replace(tables=packed(before.catalog), is_given=True)


def find_continuation(store: Store, file: BinlogFile, rules: PersonalData | None = None) -> Beginning | None:
    """Return the state at the end of the previous log; None if the data set does not have that log.

    Raises:
        OutputError: the manifest or the table record of the previous log cannot be read.
        SourceError: the data set cannot be read.
        UsageError: ENUM or SET members in the record are sealed with another key.
    """
    if number_of(file.name) < 2:
        return None
    facts = known_facts(file)
    prefix = f"{escape_name(next_name(file.name, -1))}."
    of_another_id: Beginning | None = None
    for name in store.names(MANIFESTS):
        if not (name.startswith(prefix) and name.endswith(".json")):
            continue
        path = f"{MANIFESTS}/{name}"
        try:
            manifest = _read(store, path)
            beginning = _end_state(store, manifest, facts, rules)
        except _UNREADABLE as error:
            raise OutputError(
                f"its record of the previous log cannot be read: {error}; delete it and export its log again",
                path=store.path(path).partition("?")[0],
            ) from error
        if beginning is not None and manifest["source"]["server_id"] == facts.server_id:
            return beginning
        of_another_id = of_another_id or beginning
    return of_another_id


def _read(store: Store, path: str) -> dict[str, Any]:
    text = store.read(path)
    document: dict[str, Any] = {} if text is None else json.loads(text)
    return document


def _end_state(
    store: Store, manifest: dict[str, Any], after: LogFacts, rules: PersonalData | None
) -> Beginning | None:
    """Return a manifest's end state, if the server wrote a log directly after its own."""
    end, source = manifest.get("behind"), manifest.get("source")
    if end is None or source is None:
        return None
    content = None if _is_selected(manifest) else GtidSet.parse(manifest["gtid_set"])
    if not is_next(_manifest_facts(source, end), content, after):
        return None
    catalog = _recorded_tables(store, end["tables"], rules)
    if catalog is None:
        return None
    state = ChainState(int(end["epoch"]), int(end["seqno"]))
    return Beginning(catalog, state, str(source["name"]))


def _recorded_tables(store: Store, path: str | None, rules: PersonalData | None) -> Catalog | None:
    """Return the tables of a record; None if the record is gone."""
    if path is None:
        return Catalog()
    data = store.read(path)
    if data is None:
        return None
    record = zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)
    if _path_of(record) != path:
        raise ValueError(f"{path} is not what was written")
    return unsealed_catalog(record, rules)


def _manifest_facts(source: dict[str, Any], end: dict[str, Any]) -> LogFacts:
    """Return what a manifest says of its log's place."""
    listed = end["gtids_before"]
    return LogFacts(
        path=source["name"],
        name=source["name"],
        server_id=source["server_id"],
        flavour=Flavour(source["flavour"]),
        begun=source["header_timestamp"],
        created=source["create_timestamp"],
        next_log=end["next"],
        stopped=end["next"] is None and end["ended"] is not None,
        ended=end["ended"],
        gtids_before=None if listed is None else GtidSet.parse(listed),
    )


def _is_selected(manifest: dict[str, Any]) -> bool:
    """Whether only a selection of the log's transactions was exported."""
    request = manifest["request"]
    return bool(request["selection"]) or request.get("where") is not None
