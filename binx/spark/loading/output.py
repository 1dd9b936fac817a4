"""The loader's output folder: what is committed, and how a load becomes part of it, whole or not at all.

::

    OUT/
      _state.json                                        the pointer: replaced last, it is the commit
      _loads/<n>.json                                    what load n took: manifests, files, rows
      <db>/<table>/history/commit_date=<day>/load=<n>/   row images, never touched again
      <db>/<table>/_current/v=<n>/                       the state as of load n; the last two are kept
      <db>/<table>/current -> _current/v=<n>             where the file system has links
      <db>/<table>/_current/v=<n>/_ranges.arrow          which keys each file holds
      <db>/<table>/current/v=<n>/, .../_delta_log/       instead of the last two, of Delta tables

A load is written to a folder of its own in ``_staging/``. Then ``_pending.json`` names what will be moved, it
is moved, and ``_state.json`` is replaced. A run that was killed before that is taken back by the next one
from what ``_pending.json`` names; one that was killed after it is tidied up. What readers look at first, the
links and the logs of Delta tables, follows after the commit. Readers who want the committed state of a file
system without links find its folder in ``_state.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from .manifests import NOT_UNDERSTOOD, TableName
from .outcome import LoadError, reason_of
from .plan import Taken
from .records import CONTRACT, DELTA, LOAD_FOLDER, LoadRecord, State
from .storage import Storage

LOCK = "_lock"
_STATE = "_state.json"
_PENDING = "_pending.json"
_LOADS = "_loads"
_STAGING = "_staging"
_LOAD_FOLDERS = LOAD_FOLDER.format("")
_Kept = TypeVar("_Kept")


class _Pending(NamedTuple):
    """A load on its way to be committed: what moves before, tables with new snapshots, what moves behind."""

    load: int
    moves: Sequence[tuple[str, str]]
    tables: Sequence[str]
    published: Sequence[tuple[str, str]]


class Output:
    """The output folder, held by this run's lock."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        # Tasks of a run that was killed may go on writing for a while, so no other run writes there.
        self._staging = f"{_STAGING}/{uuid4().hex}"
        self.state = self._read_state()
        self._recover()
        numbers = range(1, self.state.version + 1)
        self.loads = [self._read(_load_path(number), LoadRecord.from_json) for number in numbers]

    def _read_state(self) -> State:
        def parse(document: Any) -> State:
            if document["contract"] != CONTRACT:
                raise LoadError(
                    f"{self.storage.target(_STATE)} was written by another version of the loader: load into a"
                    " new folder"
                )
            return State.from_json(document)

        return self._read(_STATE, parse) if self.storage.exists(_STATE) else State()

    def _read(self, path: str, parse: Callable[[Any], _Kept]) -> _Kept:
        """What a load kept in a file.

        Raises:
            LoadError: it is something else.
        """
        try:
            return parse(json.loads(self.storage.read(path)))
        except NOT_UNDERSTOOD as error:
            place = self.storage.target(path)
            raise LoadError(f"{place} cannot be read ({error}): load into a new folder") from error

    def _recover(self) -> None:
        """Take back what a killed run began to publish, or finish what it had committed."""
        if self.storage.exists(_PENDING):
            pending = self._read(_PENDING, lambda document: _Pending(**document))
            if pending.load > self.state.version:
                for _, destination in pending.moves:
                    self.storage.remove(destination)
                self.storage.remove(_load_path(pending.load))
            else:
                self._publish(pending.published)
                self._show(pending.tables)
            self.storage.remove(_PENDING)
        self.storage.remove(_STAGING)

    def staged(self, path: str) -> str:
        """Where this run writes a folder before the commit."""
        return f"{self._staging}/{path}"

    def taken(self) -> Mapping[TableName, list[Taken]]:
        """The files that earlier loads took, by table."""
        found: dict[TableName, list[Taken]] = {}
        for load in self.loads:
            for file in load.files:
                taken = Taken(file.chain, file.sha256, file.first, file.last, file.cover)
                found.setdefault(file.table, []).append(taken)
        return found

    def commit(
        self,
        state: State,
        record: LoadRecord,
        moves: Iterable[tuple[str, str]],
        published: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Publish a load: all of it, or after a kill nothing.

        Args:
            state: what is committed from now on.
            record: what the load took.
            moves: staged folders and where they belong.
            published: staged files that show the load to readers; they follow after the commit.

        Raises:
            LoadError: the load is committed, but could not be shown to readers.
            OSError, Py4JError: it could not be committed.
        """
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        listed, shown = list(moves), list(published)
        renewed = [
            table.folder
            for table in state.tables.values()
            for loads in table.snapshots.values()
            if loads[0] == state.version
        ]
        pending = _Pending(state.version, listed, renewed, shown)
        self.storage.replace(_PENDING, json.dumps(pending._asdict()).encode())
        for source, destination in listed:
            self.storage.move(source, destination)
        # The state of a machine that loses its power must not name files whose content is lost.
        self.storage.synchronize(destination for _, destination in listed)
        self.storage.replace(_load_path(state.version), json.dumps(record.to_json()).encode())
        self.storage.replace(_STATE, json.dumps(state.to_json(), ensure_ascii=False, indent=1).encode())
        self.state = state
        try:
            self._publish(shown)
            self._show(renewed)
            self.storage.remove(_PENDING)
            self.storage.remove(_STAGING)
        except (OSError, Py4JError) as error:
            raise LoadError(
                f"{self.storage.root} is loaded, but not everything that publishes it to readers could"
                f" be updated; the next run tries again: {reason_of(error)}"
            ) from error

    def _publish(self, moves: Sequence[tuple[str, str]]) -> None:
        """Move what shows a load to readers, as far as a killed run has not."""
        for source, destination in moves:
            if self.storage.exists(source):
                self.storage.move(source, destination)
        self.storage.synchronize(destination for _, destination in moves)

    def _show(self, folders: Iterable[str]) -> None:
        """Let ``current`` lead to the committed snapshots, and remove those that are no longer kept."""
        shown = set(folders)
        for table in self.state.tables.values():
            if table.folder not in shown:
                continue
            for kind, loads in table.snapshots.items():
                if table.format != DELTA:
                    self.storage.link(f"{table.folder}/{kind}", f"_{kind}/{LOAD_FOLDER.format(loads[0])}")
                kept = {LOAD_FOLDER.format(load) for load in loads}
                for name in self.storage.names(table.root(kind)):
                    if name.startswith(_LOAD_FOLDERS) and name not in kept:
                        self.storage.remove(f"{table.root(kind)}/{name}")


def _load_path(number: int) -> str:
    return f"{_LOADS}/{number}.json"
