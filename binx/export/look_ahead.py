"""Logs walked over ahead of the processes that each decode whole ones.

Which columns a table has, and how many transactions there were before, follows from what stands before in the
chain; its rows do not matter. A process of its own finds that out. It has no use for Arrow, and so begins
before that is loaded.
"""

from __future__ import annotations

import fcntl
import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from binx.errors import BinxError
from binx.export.copies import Copy, can_fork, read_message, write_message
from binx.export.sharing import LEAST_SHARED, Place, whole_logs
from binx.export.workers import usable_processors
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.selection import Selection
from binx.source.plain import PlainFile

if TYPE_CHECKING:
    from types import TracebackType

    from binx.export.where import Condition
    from binx.rows.catalog import Catalog

PROCESSES = 2
"""How many processes decode large logs at most where nobody says: each takes memory of its own."""

_PIPE_BYTES = 1024 * 1024
"""What a pipe is to hold, so that the process is not held up by who decodes: what anyone may have."""


class LookAhead:
    """A copy of this process that looks ahead; it ends with the context or with this process.

    Args:
        whole: how many logs, the first ones, go whole to whoever decodes them.
        places: gives, in the copy, where each log behind the first one stands, up to the one behind these.
    """

    def __init__(self, whole: int, places: Callable[[], Iterator[Place]]) -> None:
        self.whole = whole
        self._copy: Copy | None = None
        if whole:
            self._told, theirs = os.pipe()
            with suppress(OSError):
                fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._copy = Copy(lambda: _tell(theirs, places()))
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def is_ready(self) -> bool:
        """Whether the next place is known."""
        poll = select.poll()
        poll.register(self._told, select.POLLIN)
        return bool(poll.poll(0))

    def take(self) -> Place:
        """Where the next log stands; waits until that is known.

        Raises:
            BinxError: a log before it cannot be walked over, of which whoever decodes that may tell more; or
                the process was ended from outside.
        """
        if self._copy is None:
            raise ValueError("nothing is looked at")
        try:
            told: Place | BinxError = read_message(self._told)
        except EOFError:
            raise self._copy.ended() from None
        if isinstance(told, BinxError):
            raise told
        return told

    def stop(self) -> None:
        """End the process, whatever it does, and wait until it is gone."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.stop()
            os.close(self._told)


def _tell(descriptor: int, places: Iterator[Place]) -> None:
    """Send where logs stand; runs in a process of its own."""
    try:
        for place in places:
            write_message(descriptor, place)
    except BinxError as error:
        write_message(descriptor, error)


def decoding_processes(jobs: int | None) -> int:
    """How many processes decode large logs.

    Args:
        jobs: what was asked for; None for as many as pay.
    """
    return jobs or min(PROCESSES, usable_processors())


def can_be_shared(
    files: Sequence[BinlogFile], selection: Selection, on_damage: OnDamage, where: Condition | None
) -> bool:
    """Whether processes can decode logs side by side: nothing asks for one pass in order, and it pays."""
    return (
        sum(file.size for file in files) >= LEAST_SHARED
        and on_damage is OnDamage.STOP
        and where is None
        and selection.limit is None
        and all(isinstance(file.source, PlainFile) for file in files)
        and len({(file.name, file.identity) for file in files}) == len(files)
    )


def begin_to_look_ahead(
    files: Sequence[BinlogFile],
    selection: Selection,
    catalog: Catalog | None,
    *,
    jobs: int | None,
    on_damage: OnDamage,
    where: Condition | None,
    epoch: int = 0,
    seqno: int = 1,
) -> LookAhead | None:
    """Begin to look ahead of processes that share logs; None where one process does all.

    Args:
        files: the logs, in the order of their chain.
        selection: which transactions are wanted.
        catalog: tables known beforehand; None for none.
        jobs: how many processes are asked for.
        on_damage: what is done where a log is damaged.
        where: a condition for row changes.
        epoch: logs of the chain before that a server began at its start.
        seqno: number of the first transaction.
    """
    count = decoding_processes(jobs)
    if count == 1 or not can_be_shared(files, selection, on_damage, where) or not can_fork():
        return None
    whole = whole_logs([file.size for file in files], count)

    def places() -> Iterator[Place]:
        # Here and not above: this process goes on meanwhile.
        from binx.export.chain_walk import places_behind
        from binx.rows.catalog import Catalog

        # Behind the last one nobody asks.
        return places_behind(files[: min(whole, len(files) - 1)], catalog or Catalog(), epoch, seqno)

    return LookAhead(whole, places)


__all__ = ["LookAhead", "begin_to_look_ahead", "can_be_shared", "decoding_processes"]
