"""The output folder: writing ``_state.json`` is the commit.

A load writes data files to their final place and replaces the state at its end. Files that the state no
longer lists are kept until the next load, for readers that have them open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from binx.errors import BinxError, OutputError
from binx.lake.dataset.files import NOT_UNDERSTOOD
from binx.lake.place import Place
from binx.lake.state.records import reader_of, to_json
from binx.lake.state.state import CONTRACT, State

STATE = "_state.json"
_KINDS = ("history", "current", "scd2")


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
                paths = (file.path for file in self.place.files(f"{folder}/{kind}", recursive=True))
                self.place.remove(
                    path
                    for path in paths
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
        document = CONTRACT.migrated(json.loads(content), place.shown(STATE))
        state: State = reader_of(State)(document)
    except NOT_UNDERSTOOD as error:
        raise BinxError(
            f"cannot be understood ({type(error).__name__} {error}): load into a new folder",
            path=place.shown(STATE),
        ) from error
    return content, state
