"""Expire files of ``history/``, and choose those that a load joins."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from binx.lake.dataset.files import ChangesFile
from binx.lake.load_plan import applied, lives_of
from binx.lake.state.loaded_state import State
from binx.lake.table_name import TableName
from binx.lake.tables.lives import TableHistory

_SMALL_BYTES = 32 << 20
_MOST_BYTES = 128 << 20
_MANY = 8
"""As many files of a table's day, or hour, stay as they are."""
_OLDER_DAYS = 256
"""As many days without new files are compacted by one load, so that it costs what is new."""

Groups = list[list[ChangesFile]]


def _applied_to(state: State, lives: Sequence[TableHistory]) -> tuple[set[str], list[ChangesFile]]:
    """Return the lives that are fully applied, and the files of history that no other life needs."""
    done = {
        life.id
        for life in lives
        if life.id not in state.lives
        or applied(life) == (state.lives[life.id].units, state.lives[life.id].digest)
    }
    waiting = {unit.file.table for life in lives if life.id not in done for unit in life.units}
    return done, [file for file in state.history if file.table not in waiting]


def expire(state: State, lives: list[TableHistory], first: str) -> list[TableHistory]:
    """Drop files of ``history/`` for days before ``first``; the state still records them as gone.

    Consecutive ones are one record from then on. Returns the lives as they are then.
    """
    done, files = _applied_to(state, lives)
    old = {file.path for file in files if file.day < first and not file.gone}
    if not old:
        return lives
    state.history = [replace(file, gone=file.gone or file.path in old) for file in state.history]
    tables = {file.table for file in files}
    gone = [file for file in state.history if file.gone and not file.lost and file.table in tables]
    groups = list(_groups(gone, 2))
    return replace_joined(state, done, [(group, joined(group)) for group in groups])


def to_compact(
    state: State, lives: Sequence[TableHistory], new: Collection[str], *, everything: bool
) -> tuple[set[str], Groups]:
    """Return the lives that are fully applied, and the groups of files that are to become one file each.

    A group has small consecutive files of one table, version and day (or hour). Days with more than 8 are
    compacted, first those of ``new`` files, which a load has added; with ``everything`` all that have two.
    """
    done, files = _applied_to(state, lives)
    there = [file for file in files if not file.gone and not file.lost]
    groups = list(_groups(there, 2 if everything else _MANY + 1))
    if everything:
        return done, groups
    folders = {path.rpartition("/")[0] for path in new}
    fresh = [group for group in groups if group[0].path.rpartition("/")[0] in folders]
    older = (group for group in groups if group[0].path.rpartition("/")[0] not in folders)
    return done, [*fresh, *islice(older, _OLDER_DAYS)]


def replace_joined(
    state: State, done: Collection[str], joined_files: Sequence[tuple[Sequence[ChangesFile], ChangesFile]]
) -> list[TableHistory]:
    """Put joined files into history in place of those that they have the rows of; return the lives then."""
    places: dict[str, ChangesFile | None] = {}
    for group, file in joined_files:
        places |= dict.fromkeys((one.path for one in group), None)
        places[group[0].path] = file
    history = [places.get(file.path, file) for file in state.history]
    state.history = [file for file in history if file is not None]
    lives = lives_of(state)
    for life in lives:
        if life.id in state.lives and life.id in done:
            units, digest = applied(life)
            state.lives[life.id] = replace(state.lives[life.id], units=units, digest=digest)
    return lives


def joined(group: Sequence[ChangesFile]) -> ChangesFile:
    """Return the record of a file with the rows of others, at the path of the last one."""
    return replace(
        group[-1],
        identity=hashlib.sha256("".join(file.identity for file in group).encode()).hexdigest(),
        rows=sum(file.rows for file in group),
        bytes=sum(file.bytes for file in group),
        first=group[0].first,
        last=max(file.last for file in group),
        partial=any(file.partial for file in group),
        by_rows=any(file.by_rows for file in group),
        dropped=(),
        spans=(),
    )


def _groups(history: Sequence[ChangesFile], least: int) -> Iterator[list[ChangesFile]]:
    """Yield groups of at least so many files that can be joined, in order."""

    def where(file: ChangesFile) -> tuple[TableName, str, str, str]:
        return file.table, file.chain, file.version, "" if file.gone else file.path.rpartition("/")[0]

    group: list[ChangesFile] = []
    size = 0
    for file in sorted(history, key=lambda file: (file.table, file.chain, file.first, file.last)):
        own = 0 if file.gone else file.bytes
        if group and (where(file) != where(group[0]) or own > _SMALL_BYTES or size + own > _MOST_BYTES):
            if len(group) >= least:
                yield group
            group, size = [], 0
        if own <= _SMALL_BYTES:
            group.append(file)
            size += own
    if len(group) >= least:
        yield group
