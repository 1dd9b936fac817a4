"""Expire and compact files of ``history/``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa

from binx.lake.dataset.files import ChangesFile
from binx.lake.place import Place
from binx.lake.plan import applied, lives_of
from binx.lake.state.state import State
from binx.lake.table_name import TableName

_SMALL_BYTES = 32 << 20
_MOST_BYTES = 128 << 20


def _applied_to(state: State) -> tuple[set[str], list[ChangesFile]]:
    """Return the lives that are fully applied, and the files of history that no other life needs."""
    lives = lives_of(state)
    done = {
        life.id
        for life in lives
        if life.id not in state.lives
        or applied(life) == (state.lives[life.id].units, state.lives[life.id].digest)
    }
    waiting = {unit.file.table for life in lives if life.id not in done for unit in life.units}
    return done, [file for file in state.history if file.table not in waiting and not file.gone]


def expire(state: State, first: str) -> None:
    """Drop files of ``history/`` for days before ``first``; the state still records them as gone."""
    _, files = _applied_to(state)
    old = {file.path for file in files if file.day < first}
    state.history = [replace(file, gone=file.gone or file.path in old) for file in state.history]


def compact(state: State, place: Place) -> None:
    """Join small consecutive files of ``history/`` that have the same table, version and day."""
    done, files = _applied_to(state)
    files = [file for file in files if not file.lost]
    joined: dict[str, ChangesFile | None] = {}
    for group in _groups(files):
        joined |= dict.fromkeys((file.path for file in group), None)
        joined[group[0].path] = _joined(group, place)
    history = [joined.get(file.path, file) for file in state.history]
    state.history = [file for file in history if file is not None]
    for life in lives_of(state) if joined else ():
        if life.id in state.lives and life.id in done:
            units, digest = applied(life)
            state.lives[life.id] = replace(state.lives[life.id], units=units, digest=digest)


def _groups(history: Sequence[ChangesFile]) -> Iterator[list[ChangesFile]]:
    """Yield groups of files that can be joined, in order."""

    def where(file: ChangesFile) -> tuple[TableName, str, str]:
        return file.table, file.chain, file.path.rpartition("/")[0]

    group: list[ChangesFile] = []
    for file in sorted(history, key=lambda file: (file.table, file.chain, file.first, file.last)):
        size = sum(other.bytes for other in group) + file.bytes
        if group and (where(file) != where(group[0]) or file.bytes > _SMALL_BYTES or size > _MOST_BYTES):
            if len(group) > 1:
                yield group
            group = []
        if file.bytes <= _SMALL_BYTES:
            group.append(file)
    if len(group) > 1:
        yield group


def _joined(group: Sequence[ChangesFile], place: Place) -> ChangesFile:
    rows = pa.concat_tables([place.table(file.path) for file in group]).unify_dictionaries()
    path = f"{group[0].path.rpartition('/')[0]}/{uuid4().hex}.parquet"
    return replace(
        group[0],
        identity=hashlib.sha256("".join(file.identity for file in group).encode()).hexdigest(),
        path=path,
        rows=len(rows),
        bytes=place.write(path, rows),
        last=max(file.last for file in group),
        partial=any(file.partial for file in group),
        by_rows=any(file.by_rows for file in group),
    )
