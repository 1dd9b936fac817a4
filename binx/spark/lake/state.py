"""The loaded state: ``_state.json`` in the output lists the files that count; writing it is the commit.

A load writes data files to their final place and replaces the state at its end. Files that the state no
longer lists are kept until the next load, for readers that have them open.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from binx.errors import BinxError, OutputError
from binx.event.gtid.sets import GtidSet
from binx.spark.lake.chains import Chains
from binx.spark.lake.manifests import NOT_UNDERSTOOD
from binx.spark.lake.model import ChangesFile, LifeState, Statement, TableName, Version, Waiting
from binx.spark.lake.place import Place

Reader = Callable[[Any], Any]


def to_json(record: Any) -> bytes:
    """Return a record as JSON."""
    return json.dumps(record, ensure_ascii=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {one.name: _with_text_keys(getattr(value, one.name)) for one in fields(value) if one.init}
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, GtidSet):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that a state holds")


def _with_text_keys(value: Any) -> Any:
    """Turn a dictionary whose keys are not valid in JSON into a list of pairs."""
    is_listed = isinstance(value, dict) and not all(isinstance(key, str) for key in value)
    return list(value.items()) if is_listed else value


@cache
def reader_of(kind: Any) -> Reader:
    """Return a function that parses a type's values from the output of :func:`to_json`.

    It raises a ValueError, TypeError or KeyError for anything else.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is GtidSet:
        return GtidSet.parse
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        readers = {one.name: reader_of(hints[one.name]) for one in fields(kind) if one.init}
        return lambda data: kind(**{name: read(data[name]) for name, read in readers.items()})
    if origin in (Union, UnionType):
        some = reader_of(next(one for one in arguments if one is not type(None)))
        return lambda data: None if data is None else some(data)
    if origin in (list, set) or (origin is tuple and arguments[-1] is Ellipsis):
        each = reader_of(arguments[0])
        return lambda data: origin(map(each, _checked(data, list)))
    if origin is dict:
        key, value = map(reader_of, arguments)
        return lambda data: {
            key(one): value(other) for one, other in (data.items() if isinstance(data, dict) else data)
        }
    if origin is tuple or hasattr(kind, "_fields"):
        make = tuple if origin is tuple else kind._make
        each_one = [reader_of(one) for one in (arguments or get_type_hints(kind).values())]
        return lambda data: make(read(one) for read, one in zip(each_one, data, strict=True))
    if isinstance(kind, type) and kind in (str, int, bool, float):
        return lambda data: _checked(data, kind)
    return lambda data: data


def _checked(data: Any, kind: type) -> Any:
    if not isinstance(data, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(data).__name__}")
    return data


CONTRACT = 9
STATE = "_state.json"
_KINDS = ("history", "current", "scd2")
NO_BEGINNING = "rows that were there before the first log are missing unless they changed: no base, no CREATE"


@dataclass(frozen=True, slots=True)
class Loss:
    """Data known to be missing.

    ``since`` is a commit time. ``source`` is the export that reported the loss; a better export of that log
    removes it. ``seen`` is whether a user accepted it, for losses that concern no particular table.
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
    """

    name: TableName
    whole: bool = True
    reasons: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    unknown: int = 0
    error: str = ""
    seen: tuple[str, ...] = ()

    @property
    def told(self) -> list[str]:
        """The reasons why it is incomplete, as sentences."""
        found = [] if self.whole else [NO_BEGINNING]
        found += self.reasons
        if self.unknown:
            found.append(
                f"{self.unknown:,} rows have values that only the server knows (NULL, listed in _unknown)"
            )
        found += [loss.reason for loss in self.losses]
        return found + ([f"stopped: {self.error}"] if self.error else [])

    @property
    def complete(self) -> str:
        """Its completeness, in a word or two."""
        if self.losses or self.error:
            since = min((loss.since for loss in self.losses if loss.since), default="")
            return f"losses since {since}" if since else "losses"
        if not self.whole:
            return "partial (no base, no CREATE)"
        return "partial" if self.told else "yes"

    @property
    def is_accepted(self) -> bool:
        """Whether every loss was accepted."""
        return not self.error and set(map(_kind, self.told)) <= set(self.seen)

    def accepted(self) -> LifeRecord:
        """Return the record with all losses marked as seen."""
        return replace(self, seen=tuple(dict.fromkeys(map(_kind, self.told))))


def _kind(reason: str) -> str:
    """Return a reason without its numbers, which grow with each load."""
    return re.sub(r"\d[\d,]*", "#", reason)


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
        statements: the statements that have effects.
        keys: keys from options, by table; ``hourly`` is whether history is divided by hour.
        losses: losses that concern no particular table.
        erasures: the runs of ``binx erase``, each with counts of keys and rows, the condition's columns, and
            by table and chain the events that had such rows.
        garbage: files of the former state, which readers may still have open.
    """

    contract: int = CONTRACT
    version: int = 0
    at: str = ""
    order: list[str] = field(default_factory=list)
    chains: Chains = field(default_factory=Chains)
    known: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    partial: set[tuple[TableName, str]] = field(default_factory=set)
    statements: list[Statement] = field(default_factory=list)
    versions: dict[tuple[TableName, str], Version] = field(default_factory=dict)
    history: list[ChangesFile] = field(default_factory=list)
    lives: dict[str, LifeState] = field(default_factory=dict)
    records: dict[str, LifeRecord] = field(default_factory=dict)
    keys: dict[TableName, tuple[str, ...]] = field(default_factory=dict)
    hourly: bool = False
    losses: list[Loss] = field(default_factory=list)
    erasures: list[dict[str, Any]] = field(default_factory=list)
    garbage: list[str] = field(default_factory=list)

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each chain in the order."""
        return {name: rank for rank, name in enumerate(self.order)}

    @property
    def erased(self) -> dict[tuple[TableName, str], set[tuple[str, int]]]:
        """The events that had erased rows, by table and chain: a transaction and the event's time."""
        found: dict[tuple[TableName, str], set[tuple[str, int]]] = defaultdict(set)
        for db, table, chain, transaction, time in (
            one for note in self.erasures for one in note.get("events", ())
        ):
            found[TableName(db, table), chain].add((transaction, time))
        return found

    def paths(self) -> set[str]:
        """Return all data files that count."""
        lives = {file.path for life in self.lives.values() for file in (*life.ranges, *life.versions)}
        return lives | {file.path for file in self.history if not file.gone}


class Output:
    """The output folder, whose ``state`` a load changes and commits.

    ``folders`` are the folders that the load writes to. Files in them that the state does not list are
    removed at its end, including those of an earlier load that was killed.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.folders: set[str] = set()
        self._read, self.state = _read_state(place)
        self._former = self.state.paths()
        self._garbage = set(self.state.garbage)
        self._is_sure = True

    @contextmanager
    def locked(self, *, broken: bool) -> Iterator[None]:
        """Lock the folder, which is made if need be; remove uncommitted files after an error.

        Raises:
            OutputError: another process has the lock, or has committed since the state was read.
        """
        with self.place.locked(broken=broken):
            self._check()
            try:
                yield
            except BaseException:
                self._give_up()
                raise

    def _check(self) -> None:
        """Check that the committed state is the one that was read."""
        if self.place.read(STATE) != self._read:
            raise OutputError(
                "another load has committed while this one ran: run this one again", path=self.place.uri
            )

    def commit(self, state: State) -> None:
        """Replace the state that was read; the files that the new one lists count from then on.

        Raises:
            OutputError: another load has committed in the meantime, or the state cannot be written.
        """
        ours = state.paths()
        self.place.synchronize(sorted(ours - self._former))
        self._check()
        self.place.remove(sorted(self._garbage - ours))
        state.garbage = sorted(self._former - ours)
        content = to_json(state)
        # If this fails, only the place knows which of the two states counts.
        self._is_sure = False
        self.place.put(STATE, content)
        self._is_sure = True
        self._read, self._former, self._garbage = content, ours, set(state.garbage)

    def tidy(self) -> None:
        """Remove files that do not count, including those of lost or stopped tasks."""
        kept = self._former | self._garbage
        for folder in sorted(self.folders):
            for kind in _KINDS:
                found = (file.path for file in self.place.files(f"{folder}/{kind}", recursive=True))
                self.place.remove(
                    path
                    for path in found
                    if path not in kept and path.endswith(".parquet") and "/_delta_log/" not in path
                )

    def _give_up(self) -> None:
        """Remove this load's uncommitted files; those that cannot be removed are left to the next load."""
        with suppress(BinxError):
            if self._is_sure:
                self.tidy()


def _read_state(place: Place) -> tuple[bytes | None, State]:
    """Read the committed state; return a new one if there is none."""
    content = place.read(STATE)
    if content is None:
        return None, State()
    try:
        document = json.loads(content)
        if document["contract"] != CONTRACT:
            raise BinxError(
                "was written by another version of the loader: load into a new folder",
                path=place.shown(STATE),
            )
        state: State = reader_of(State)(document)
    except NOT_UNDERSTOOD as error:
        raise BinxError(
            f"cannot be understood ({type(error).__name__} {error}): load into a new folder",
            path=place.shown(STATE),
        ) from error
    return content, state
