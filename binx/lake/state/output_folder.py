"""The output folder: writing ``_state.json`` is the commit.

A load writes data files to their final place and replaces the state at its end. Files that the state no
longer lists are removed by the load after the next one, for readers that have them open or that read views
of the load before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from binx.errors import BinxError, OutputError
from binx.lake.dataset.files import NOT_UNDERSTOOD
from binx.lake.place import LakeStore
from binx.lake.state.json_records import reader_of, to_json
from binx.lake.state.loaded_state import CONTRACT, State

STATE = "_state.json"
_UNFINISHED = "_unfinished.json"
"""The folders that a load writes to, as long as it runs; one that is there before was left by a kill."""

_KINDS = ("history", "current", "scd2")
_LOADS_KEPT = 2


class Output:
    """The output folder, whose ``state`` a load changes and commits.

    ``folders`` are the tables' folders that the load writes to. Files in them that the state does not list
    are removed at its end, including those of an earlier load that was killed.
    """

    def __init__(self, place: LakeStore) -> None:
        self.place = place
        self.folders: set[str] = set()
        self._read, self.state = _read_state(place)
        self._former = self.state.paths()
        self._added: set[str] = set()
        self._garbage = set(self.state.garbage)
        self._is_sure = True
        self._is_marked = False
        self._was_killed = False

    @contextmanager
    def locked(self, *, broken: bool) -> Iterator[None]:
        """Lock the folder, which is made if need be; remove uncommitted files after an error.

        Raises:
            OutputError: another process has the lock, or has committed since the state was read.
        """
        with self.place.locked(broken=broken):
            self._check()
            left = self.place.read(_UNFINISHED)
            self._is_marked = self._was_killed = left is not None
            with suppress(ValueError):
                self.folders |= set(json.loads(left or b"[]"))
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

    def begin(self) -> None:
        """Note where this load writes to, in case that it is killed."""
        self._is_marked = True
        self.place.put(_UNFINISHED, json.dumps(sorted(self.folders)).encode())

    def commit(self, state: State) -> None:
        """Replace the state that was read; the files that the new one lists count from then on.

        Raises:
            OutputError: another load has committed in the meantime, or the state cannot be written.
        """
        ours = state.paths()
        added = ours - self._former
        self.place.synchronize(sorted(added))
        self._check()
        old = {path for path, load in state.garbage.items() if load <= state.version - _LOADS_KEPT}
        self.place.remove(sorted(old - ours))
        kept = {path: load for path, load in state.garbage.items() if path not in old}
        state.garbage = kept | dict.fromkeys(sorted(self._former - ours), state.version)
        content = to_json(state)
        # If this fails, only the place knows which of the two states counts.
        self._is_sure = False
        self.place.put(STATE, content)
        self._is_sure = True
        self._read, self._former, self._garbage = content, ours, set(state.garbage)
        # A load commits again what it brought to a catalog's tables.
        self._added |= added

    def tidy(self, *, everywhere: bool = False) -> None:
        """Remove files that do not count, including those of lost or stopped tasks.

        Of history, only folders that have new files are listed, which lost tasks wrote to as well; all
        folders if ``everywhere``, or if the load before was killed.
        """
        kept = self._former | self._garbage
        folders = {f"{folder}/{kind}" for folder in self.folders for kind in _KINDS}
        if not everywhere and not self._was_killed:
            history = {path.rpartition("/")[0] for path in self._added}
            folders = {folder for folder in folders if not folder.endswith("/history")} | history
        for folder in sorted(folders):
            paths = (file.path for file in self.place.files(folder, recursive=True))
            self.place.remove(
                path
                for path in paths
                if path not in kept and path.endswith(".parquet") and "/_delta_log/" not in path
            )
        if self._is_marked:
            self.place.remove([_UNFINISHED])

    def _give_up(self) -> None:
        """Remove this load's uncommitted files; those that cannot be removed are left to the next load."""
        with suppress(BinxError):
            if self._is_sure:
                self.tidy(everywhere=True)


def _read_state(place: LakeStore) -> tuple[bytes | None, State]:
    """Read the committed state; return a new one if there is none."""
    content = place.read(STATE)
    if content is None:
        return None, State()
    try:
        document = CONTRACT.migrated(json.loads(content), place.shown(STATE))
        state: State = reader_of(State)(document)
    except NOT_UNDERSTOOD as error:
        raise BinxError(
            f"cannot be understood ({type(error).__name__} {error}): load into a new folder",
            path=place.shown(STATE),
        ) from error
    return content, state
