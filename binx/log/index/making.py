"""See to it that logs have index files that are true."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from binx.log.chain.relay import begins_before, begins_inside
from binx.log.file import BinlogFile
from binx.log.index.file import IndexFile, IndexState, examine_index
from binx.log.index.lookup import index_path, index_places
from binx.log.index.writer import write_index
from binx.source.names import printable
from binx.source.remote import is_uri
from binx.storage.output import output_errors
from binx.storage.temporary_files import remove_leftovers

WRITTEN = "written"
"""The state of an index file that was made anew."""


class IndexedLog(NamedTuple):
    """What became of a log's index file.

    Attributes:
        log: the log's path.
        index: the index file's path.
        state: ``written``, or as :class:`~binx.log.index.file.IndexState` has it.
        transactions: how many it holds; None where it is not true.
        bytes: its size; None where it is not true.
        unfinished_bytes: of the log, behind its last whole transaction, that it says nothing of.
        problem: why it cannot be used.
    """

    log: str
    index: str  # type: ignore[assignment]  # Not that of tuples.
    state: str
    transactions: int | None = None
    bytes: int | None = None
    unfinished_bytes: int | None = None
    problem: str | None = None

    @property
    def is_true(self) -> bool:
        """Whether the log has an index file that can be used."""
        return self.problem is None and self.transactions is not None

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {**self._asdict(), "log": printable(self.log), "index": printable(self.index)}


def index_log(
    file: BinlogFile,
    folder: str | None = None,
    *,
    check: bool = False,
    force: bool = False,
    verify: bool = True,
) -> IndexedLog:
    """See to it that a log has an index file that is true.

    Args:
        file: the log.
        folder: a folder of index files, made where it is not there; None for beside the log.
        check: write nothing.
        force: write it also where it is true already.
        verify: whether the checksums of all events are compared.

    Raises:
        AbsentError: it is a relay log that begins inside a transaction.
        DamagedError, UnsupportedError: the log cannot be read to its end.
        OutputError: the index file cannot be written.
    """
    for found in [] if force and not check else _found(file, folder):
        if check or found.is_true:
            return found
    if file.is_relay_log and begins_inside(file):
        raise begins_before(file, "an index file describes one log alone, so these two are read without")
    path = index_path(file, folder)
    if folder is not None:
        with output_errors(Path(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
    if not is_uri(path):
        with output_errors(Path(path).parent):
            remove_leftovers(Path(path).parent)
    report = write_index(file, path, verify=verify)
    return IndexedLog(
        *(file.path, path, WRITTEN, report.transactions, report.bytes),
        unfinished_bytes=report.unfinished,
    )


def _found(file: BinlogFile, folder: str | None) -> list[IndexedLog]:
    """The index files that a log has, a true one first; where it has none, one that is absent."""
    found = [_examined(file, path) for path in index_places(file, folder)]
    return sorted(found, key=lambda one: (not one.is_true, one.state == "absent"))


def _examined(file: BinlogFile, path: str) -> IndexedLog:
    state, problem = examine_index(file, path)
    if state is not IndexState.TRUE:
        return IndexedLog(file.path, path, state.value, problem=problem)
    index = IndexFile.open(path, file)
    if index is None:
        return IndexedLog(file.path, path, IndexState.ABSENT.value)
    with closing(index):
        return IndexedLog(
            *(file.path, path, state.value, index.transactions, index.size),
            unfinished_bytes=index.facts.size - index.facts.covered,
        )


__all__ = ["WRITTEN", "IndexedLog", "index_log"]
