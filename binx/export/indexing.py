"""See to it that logs have index files that are true."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from binx.export.output import output_errors
from binx.export.sidecar import write_sidecar
from binx.export.temporary_files import remove_leftovers
from binx.log.file import BinlogFile
from binx.log.index_use import sidecar_path, sidecar_places
from binx.log.sidecar import Sidecar
from binx.log.sidecar_state import SidecarState, examine_sidecar
from binx.source.names import printable
from binx.source.remote import is_uri

if TYPE_CHECKING:
    from binx.rows.catalog import Catalog


WRITTEN = "written"
"""The state of an index file that was made anew."""


class IndexedLog(NamedTuple):
    """What became of a log's index file.

    Attributes:
        log: the log's path.
        index: the index file's path.
        state: ``written``, or as :class:`~binx.log.sidecar.SidecarState` has it.
        transactions: how many it holds; None where it is not true.
        bytes: its size; None where it is not true.
        unfinished_bytes: of the log, behind its last whole transaction, that it says nothing of.
        has_keys: whether it has Bloom filters of primary keys.
        problem: why it cannot be used.
    """

    log: str
    index: str  # type: ignore[assignment]  # Not that of tuples.
    state: str
    transactions: int | None = None
    bytes: int | None = None
    unfinished_bytes: int | None = None
    has_keys: bool | None = None
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
    keys: bool = False,
    catalog: Catalog | None = None,
    verify: bool = True,
) -> IndexedLog:
    """See to it that a log has an index file that is true.

    Args:
        file: the log.
        folder: a folder of index files, made where it is not there; None for beside the log.
        check: write nothing.
        force: write it also where it is true already.
        keys: whether Bloom filters of primary keys are wanted; an index file without them is written anew.
        catalog: tables known beforehand, for their keys; it stays as it is.
        verify: whether the checksums of all events are compared.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end.
        OutputError: the index file cannot be written.
    """
    for found in [] if force and not check else _found(file, folder):
        if check or found.has_keys or (found.is_true and not keys):
            return found
    path = sidecar_path(file, folder)
    if folder is not None:
        with output_errors(Path(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
    if not is_uri(path):
        with output_errors(Path(path).parent):
            remove_leftovers(Path(path).parent)
    known: Catalog | None = None
    if keys:
        from binx.rows.catalog import Catalog

        # What other logs did to the tables is not taken over: those that have their index files are not read.
        known = Catalog() if catalog is None else catalog.copy()
    report = write_sidecar(file, path, keys=known, verify=verify)
    return IndexedLog(
        *(file.path, path, WRITTEN, report.transactions, report.bytes),
        unfinished_bytes=report.unfinished,
        has_keys=keys,
    )


def _found(file: BinlogFile, folder: str | None) -> list[IndexedLog]:
    """The index files that a log has, a true one first; where it has none, one that is absent."""
    found = [_examined(file, path) for path in sidecar_places(file, folder)]
    return sorted(found, key=lambda one: (not one.is_true, not one.has_keys, one.state == "absent"))


def _examined(file: BinlogFile, path: str) -> IndexedLog:
    state, problem = examine_sidecar(file, path)
    if state is not SidecarState.TRUE:
        return IndexedLog(file.path, path, state.value, problem=problem)
    with closing(Sidecar.open(path, file)) as sidecar:
        log = sidecar.directory.log
        return IndexedLog(
            *(file.path, path, state.value, sidecar.transactions, sidecar.size),
            unfinished_bytes=log.size - log.covered,
            has_keys=sidecar.directory.keys is not None,
        )


__all__ = ["WRITTEN", "IndexedLog", "index_log"]
