"""The loaded state: ``_state.json`` in the output lists the files that count; and how files are written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from binx.lake.dataset.files import ChangesFile, Version, clipped
from binx.lake.dataset.loaded_chains import LeftOut, LoadedChains
from binx.lake.dataset.spans import FILE_BITS, Span, without
from binx.lake.dataset.statement_effects import RecordedStatement, StatementTarget, Unlogged, spelled_as_rows
from binx.lake.table_name import TableName
from binx.lake.tables.lives import SchemaSpan, TableColumn
from binx.source.log_names import numbered_name
from binx.storage.contracts import Contract


def _with_lost_transactions(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 10, without lost transactions and with one load's garbage, to 11."""
    for chain in document["chains"]["by_name"].values():
        # Not its own GTIDs: without those before them, another server would seem to have lost what is older.
        chain.setdefault("known", "")
    for file in [*document["history"], *(waiting["file"] for waiting in document["waiting"])]:
        file.setdefault("lost", [])
    garbage = dict.fromkeys(document["garbage"], document["version"])
    return {"left_out": {}, **document, "garbage": garbage}


def _with_sql_modes(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 11, whose statements say only whether their mode was strict, to 12."""
    for statement in document["statements"]:
        is_strict = statement.pop("strict")
        del statement["time_zone"]
        statement["sql_mode"] = "STRICT_ALL_TABLES" if is_strict else ""
    return document


def _with_unlogged(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 12, without the targets of statements logged alone, to 13."""
    return {"unlogged": {}, **document}


def _with_shards(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 13, all of whose servers have the same tables, to 14."""
    for own in (*document["lives"].values(), *document["records"].values()):
        own["shard"] = ""
    return {"shards": False, **document}


def _with_differing(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 14, whose losses of logs concern no table, to 15."""
    for life in document["lives"].values():
        life["differing"] = 0
    apart: dict[str, list[tuple[None, str]]] = {loss["source"]: [] for loss in document["losses"]}
    for loss in document["losses"]:
        apart[loss["source"]].append((None, loss["reason"]))
    for chain in document["chains"]["by_name"].values():
        for number, log in chain["logs"] if isinstance(chain["logs"], list) else chain["logs"].items():
            name = f"{numbered_name(chain['base'], int(number))}.{log['identity']}"
            log["losses"] = apart.pop(name, [])
    document["losses"] = [loss for loss in document["losses"] if loss["source"] in apart]
    return document


def _with_catalog(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 15, all of whose rows are in files, to 16."""
    for life in document["lives"].values():
        life["catalog"] = None
    return {"catalog": "", "writer": "", "emptied": [], **document}


def _with_ends(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a state from contract 16, which knows no times of last commits and of statements' ones, to 17."""
    for chain in document["chains"]["by_name"].values():
        chain |= {"last_commit": 0, "outlived_by": {}, "reused": ""}
    for left_out in document["left_out"].values():
        left_out["reused"] = ""
    for statement in document["statements"]:
        statement["committed"] = statement["time"]
    return document


CONTRACT = Contract(
    17,
    again="load into a new folder",
    steps={
        10: _with_lost_transactions,
        11: _with_sql_modes,
        12: _with_unlogged,
        13: _with_shards,
        14: _with_differing,
        15: _with_catalog,
        16: _with_ends,
    },
)
"""The contract of the state."""

NO_BEGINNING = "rows that were there before the first log are missing unless they changed: no base, no CREATE"


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A file of ``current/`` or ``scd2/``: ``bytes`` in memory, ``unknown`` rows that lack a value.

    Each file of ``current/`` has one key range: all rows whose keys lie between two bounds. ``deleted`` is
    the number of its rows that are kept although they are deleted.
    """

    path: str
    rows: int
    bytes: int
    unknown: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """A catalog's table that has the rows of a life, in place of files of ``current/``.

    Attributes:
        load: the number of the load that changed it last.
        rows: how many rows it has then, without deleted ones; ``unknown`` of them lack values.
        before: files with the rows that those of ``ranges`` replace, in ``columns`` with ``key``.
        is_all: whether ``ranges`` have all rows of the life.
        is_new: whether they replace all that the table has.
    """

    load: int
    rows: int
    unknown: int
    before: tuple[RangeFile, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    key: tuple[int, ...] = ()
    is_all: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class LifeState:
    """The loaded state of a life.

    Attributes:
        folder: the folder of ``current/`` and ``scd2/``, relative to the output.
        units: the number of the life's units that are applied, which have so many ``epochs``.
        digest: a digest of these units, to detect whether they have changed.
        ranges: the files of ``current/``, one per key range, in key order.
        lows: the keys at which ranges begin, serialized by :mod:`.arrow.keys`.
        closed: the files of ended versions; ``held`` those of current versions, one for each range.
        scd2: whether versions are written.
        withheld: XA transactions, by chain and commit version, whose rows were left out.
        soft_deletes: whether ``current/`` keeps deleted rows, marked.
        shard: the first chain of its logs, a column of its files, if servers are shards; else empty.
        differing: the number of logged images that did not fit the rows before them.
        catalog: the catalog's table that has its rows; None if they are in ``current/``.
    """

    life: str
    name: TableName
    folder: str
    units: int = 0
    epochs: int = 0
    digest: str = ""
    ranges: tuple[RangeFile, ...] = ()
    lows: str = ""
    closed: tuple[RangeFile, ...] = ()
    held: tuple[RangeFile, ...] = ()
    scd2: bool = False
    columns: tuple[TableColumn, ...] = ()
    key: tuple[int, ...] = ()
    withheld: tuple[tuple[str, int], ...] = ()
    soft_deletes: bool = False
    shard: str = ""
    differing: int = 0
    catalog: CatalogRows | None = None

    @property
    def rows(self) -> int:
        """The number of rows, without deleted ones."""
        if self.catalog is not None:
            return self.catalog.rows
        return sum(file.rows - file.deleted for file in self.ranges)

    @property
    def unknown(self) -> int:
        """The number of rows that lack values."""
        return sum(file.unknown for file in self.ranges) if self.catalog is None else self.catalog.unknown

    @property
    def is_pending(self) -> bool:
        """Whether the catalog's table is still to be brought up to its files."""
        return self.catalog is not None and bool(self.ranges)

    @property
    def versions(self) -> tuple[RangeFile, ...]:
        """The files of ``scd2/``."""
        return (*self.closed, *self.held)

    @property
    def files(self) -> tuple[RangeFile, ...]:
        """All its files."""
        return (*self.ranges, *self.versions, *(self.catalog.before if self.catalog is not None else ()))

    def without_files(self) -> LifeState:
        """Return the state of a life whose rows are in the catalog's table alone."""
        assert self.catalog is not None
        rows = replace(self.catalog, before=(), columns=(), key=(), is_all=False, is_new=False)
        return replace(self, ranges=(), lows="", closed=(), held=(), catalog=rows)

    @property
    def stored(self) -> SchemaSpan:
        """The columns of its files, as an epoch."""
        return SchemaSpan(None, self.columns, self.key)


@dataclass(frozen=True, slots=True)
class Options:
    """How files are written.

    A range has about ``range_bytes`` in memory; up to ``small_bytes`` on disk are merged by one task without
    a shuffle; a task applies images as soon as it holds ``held_bytes`` of them. ``hours`` is whether files of
    history cover one hour instead of one day.
    """

    compression: str = "zstd"
    hours: bool = False
    range_bytes: int = 128 << 20
    small_bytes: int = 16 << 20
    held_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Loss:
    """Data known to be missing.

    ``since`` is a commit time. ``source`` is what found the loss, if a later load may find less of it.
    ``seen`` is whether a user accepted it, for losses that concern no particular table.
    """

    reason: str
    since: str = ""
    source: str = ""
    seen: bool = False


@dataclass(frozen=True, slots=True)
class LifeRecord:
    """The facts recorded about a life, apart from its files.

    Attributes:
        whole: whether the logs have its beginning.
        reasons: what the logs themselves lack, as sentences.
        losses: losses found by loads; kept until the table is rebuilt.
        unknown: the number of rows with values that only the server knows.
        error: why the last load stopped it.
        seen: the reasons that a user accepted.
        shard: the first chain of its logs, if servers are shards; else empty.
    """

    name: TableName
    whole: bool = True
    reasons: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    unknown: int = 0
    error: str = ""
    seen: tuple[str, ...] = ()
    shard: str = ""

    @property
    def sentences(self) -> list[str]:
        """The reasons why it is incomplete, as sentences."""
        listed = [] if self.whole else [NO_BEGINNING]
        listed += self.reasons
        if self.unknown:
            listed.append(
                f"{self.unknown:,} rows have values that only the server knows (NULL, listed in _unknown)"
            )
        listed += [loss.reason for loss in self.losses]
        listed += [f"stopped: {self.error}"] if self.error else []
        return [f"{self.shard}: {sentence}" for sentence in listed] if self.shard else listed

    @property
    def complete(self) -> str:
        """Its completeness, in a word or two."""
        if self.losses or self.error:
            since = min((loss.since for loss in self.losses if loss.since), default="")
            return f"losses since {since}" if since else "losses"
        if not self.whole:
            return "partial (no base, no CREATE)"
        return "partial" if self.sentences else "yes"

    @property
    def is_accepted(self) -> bool:
        """Whether every loss was accepted."""
        return not self.error and set(map(_kind, self.sentences)) <= set(self.seen)

    def accepted(self) -> LifeRecord:
        """Return the record with all losses marked as seen."""
        return replace(self, seen=tuple(dict.fromkeys(map(_kind, self.sentences))))


def _kind(reason: str) -> str:
    """Return a reason without its numbers, which grow with each load."""
    return re.sub(r"\d[\d,]*", "#", reason)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is not loaded yet, with its log (``source``: chain and number).

    ``manifest`` is the manifest that lists it and its ``schema``; ``spans`` are those that no other export of
    its table has. An ``error`` means that the manifest does not add up, and there is no file.
    """

    file: ChangesFile
    source: str
    manifest: str
    spans: tuple[Span, ...]
    schema: str = ""
    error: str = ""


@dataclass(slots=True)
class State:
    """The committed state.

    Attributes:
        version: the number of the load that wrote it.
        at: the moment of the tables, in words; empty for the end of the logs.
        order: the chains in the order of application.
        known: the manifests that loads read, by place and path: size and modification time.
        waiting: files from these that are not loaded, as their tables were left out or failed.
        partial: tables and chains with exports that may lack transactions.
        left_out: by chain, the transactions that were lost when another server took over.
        statements: the statements that have effects.
        keys: keys from options, by table; ``hourly`` is whether history is divided by hour.
        shards: whether servers have tables of the same names whose rows are not the same.
        catalog: the catalog whose tables have the rows, empty for files; ``writer`` is what its tables note.
        emptied: the names of tables that the catalog has and whose rows count no more.
        losses: losses that concern no particular table.
        unlogged: changes logged as statements, by what they changed.
        erasures: the runs of ``binx erase``, each with counts of keys and rows, the condition's columns, and
            by table and chain the events that had such rows.
        garbage: files of former states, which readers may still have open, with the load that gave each up.
    """

    contract: int = CONTRACT.number
    version: int = 0
    at: str = ""
    order: list[str] = field(default_factory=list)
    chains: LoadedChains = field(default_factory=LoadedChains)
    known: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    partial: set[tuple[TableName, str]] = field(default_factory=set)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    statements: list[RecordedStatement] = field(default_factory=list)
    versions: dict[tuple[TableName, str], Version] = field(default_factory=dict)
    history: list[ChangesFile] = field(default_factory=list)
    lives: dict[str, LifeState] = field(default_factory=dict)
    records: dict[str, LifeRecord] = field(default_factory=dict)
    keys: dict[TableName, tuple[str, ...]] = field(default_factory=dict)
    hourly: bool = False
    shards: bool = False
    catalog: str = ""
    writer: str = ""
    emptied: list[TableName] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    unlogged: dict[StatementTarget, Unlogged] = field(default_factory=dict)
    erasures: list[dict[str, Any]] = field(default_factory=list)
    garbage: dict[str, int] = field(default_factory=dict)

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each chain in the order."""
        return {name: rank for rank, name in enumerate(self.order)}

    def shard_of_chains(self) -> dict[str, str]:
        """Return the shard of each chain, empty if the servers are no shards."""
        return self.chains.shards(self.order) if self.shards else {}

    @property
    def erased(self) -> dict[tuple[TableName, str], set[tuple[str, int]]]:
        """The events that had erased rows, by table and chain: a transaction and the event's time."""
        events: dict[tuple[TableName, str], set[tuple[str, int]]] = defaultdict(set)
        for db, table, chain, transaction, time in (
            event for note in self.erasures for event in note.get("events", ())
        ):
            events[TableName(db, table), chain].add((transaction, time))
        return events

    def spelled_statements(self) -> list[RecordedStatement]:
        """Return the statements, with names as rows have them."""
        files = [*self.history, *(waiting.file for waiting in self.waiting)]
        return spelled_as_rows(self.statements, files)

    def gave_up(self, chain: str, span: Span, wanted: Callable[[TableName], bool]) -> bool:
        """Give up what a chain contributed in a span, but for tables that are not wanted; False if it cannot.

        Rows that stay are compared with those that come instead.
        """
        first, last = span
        held = [one for one in self.history if one.chain == chain and one.first <= last and one.last >= first]
        if any(file.gone for file in held):
            return False
        self.partial |= {(file.table, chain) for file in held}
        given_up = {file.path for file in held if wanted(file.table)}
        parts = (
            clipped(file, without((file.first, file.last), [span])) if file.path in given_up else file
            for file in self.history
        )
        self.history = [part for part in parts if part is not None]
        self.unlogged = {
            target: changes
            for target, changes in self.unlogged.items()
            if target.chain != chain or not first >> FILE_BITS <= target.log <= last >> FILE_BITS
        }
        self.statements = [
            one for one in self.statements if one.chain != chain or not first <= one.scn <= last
        ]
        return True

    def paths(self) -> set[str]:
        """Return all data files that count."""
        lives = {file.path for life in self.lives.values() for file in life.files}
        return lives | {file.path for file in self.history if not file.gone}
