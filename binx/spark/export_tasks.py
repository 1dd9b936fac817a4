"""What Spark's tasks do for ``to-parquet``: look through a log, and write one.

A task writes with the code that ``to-parquet`` has, aside, in a folder of its own, hands that in, and answers
with the manifest. Whatever else attempts have written, because they failed or ran twice, goes with what
stands aside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from binx.dataset.chain import Place, Surveyed, survey
from binx.dataset.dataset import DataSet, Transaction
from binx.dataset.parquet import ExportedLog, Request, export_log
from binx.errors import BinxError
from binx.log.file import BinlogFile
from binx.log.index.lookup import IndexUse, attach_indexes
from binx.log.scan import Resumption
from binx.log.selection.selection import Selection
from binx.source.age import IDENTITY_VARIABLE
from binx.source.keyring import KEY_FILE_VARIABLE, KEYRING_VARIABLE, Keys, given_keys
from binx.spark.log_place import LogPlace
from binx.where.rows import RowsSeen


@dataclass(frozen=True, slots=True)
class TaskLog:
    """A log to be opened by a task."""

    place: LogPlace
    size: int
    resumption: Resumption | None
    keyrings: tuple[str, ...]
    key_file: str | None
    identities: tuple[str, ...]

    @classmethod
    def of(cls, file: BinlogFile) -> TaskLog:
        """What a task needs to open a log that is open here."""
        return cls(
            LogPlace.of(file),
            file.size,
            file.resumption,
            _paths_in(KEYRING_VARIABLE),
            os.environ.get(KEY_FILE_VARIABLE),
            _paths_in(IDENTITY_VARIABLE),
        )

    def keys(self) -> Keys | None:
        """The keys of encrypted logs, from files; None where none were given."""
        if not self.keyrings and self.key_file is None and not self.identities:
            return None
        return given_keys(self.keyrings, self.key_file, self.identities)


def _paths_in(variable: str) -> tuple[str, ...]:
    """The paths that a variable of the environment names."""
    return tuple(path for path in os.environ.get(variable, "").split(os.pathsep) if path)


@dataclass(frozen=True, slots=True)
class Survey:
    """A log to be looked through."""

    log: TaskLog
    selection: Selection
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """What one task does: a log, and all that it must know of those before."""

    log: TaskLog
    output: str
    request: Request
    place: Place
    is_doubtful: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task has done."""

    attempt: str
    exported: ExportedLog | None = None
    error: BinxError | None = None
    rows_seen: RowsSeen = field(default_factory=RowsSeen)
    is_behind_known: bool = False


def survey_logs(surveys: Iterable[Survey]) -> Iterator[Surveyed]:
    """What the logs behind each must know of it; runs in a task."""
    for one in surveys:
        log = one.log
        try:
            with log.place.opened(log.keys(), log.size) as file:
                file.resumption = log.resumption
                attach_indexes([file], IndexUse())
                yield survey(file, one.selection, one.names)
        except BinxError as error:
            yield Surveyed(0, 0, (), error)


def write_share(shares: Iterable[Share]) -> Iterator[Answer]:
    """Write logs to where no other attempt writes; runs in a task.

    What is wrong with a log is an answer, so that it is not tried again; all else is left to Spark.
    """
    for share in shares:
        attempt = uuid4().hex
        try:
            with share.log.place.opened(share.log.keys(), share.log.size) as file:
                file.resumption = share.log.resumption
                yield _written(share, file, attempt)
        except BinxError as error:
            yield Answer(attempt, error=error)


def _written(share: Share, file: BinlogFile, attempt: str) -> Answer:
    dataset = DataSet(share.output)
    rows = share.request.row_filter(share.place)
    begun: list[Transaction] = []

    def begin(source: str) -> Transaction:
        begun.append(dataset.attempt(source, attempt))
        return begun[0]

    try:
        exported = export_log(
            dataset,
            share.request,
            file,
            share.place,
            begin,
            lambda position: None,
            row_filter=rows,
            needs_behind=share.is_doubtful,
        )
        if exported.staged is not None:
            begun[0].hand_in(exported.staged.files)
    except BaseException:
        for transaction in begun:
            transaction.abandon()
        raise
    return Answer(
        attempt,
        exported,
        rows_seen=RowsSeen() if rows is None else rows.seen,
        is_behind_known=share.is_doubtful or bool(exported.manifest["damage"]),
    )


__all__ = ["Answer", "Share", "Survey", "TaskLog", "survey_logs", "write_share"]
