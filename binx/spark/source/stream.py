"""Streaming reads: offsets into the logs of a growing folder, and the slices between two offsets.

For each server (its id and the base name of its logs), an offset has the log read last, by name and source
identity, and the position after the last transaction read in it. Logs may be removed once they are read to
the end. Only whole transactions are read, so that a log may grow meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from binx.errors import AbsentError, RefusedError
from binx.log.chain.chain import ChainLog
from binx.log.scanning import Resumption
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.source.log_names import next_name
from binx.spark.source.read_plan import Slice, SlicePlanner, opened_chain
from binx.spark.source.request import ScanRequest, What, shares

Step = dict[str, Any]
"""A server's position: ``file`` and ``position``; ``next``, the log after it, empty if not known yet.

``epoch`` and ``seqno`` are the values from which later transactions are counted.
"""

Offset = dict[str, Step]
"""A step for each server."""


class Stream:
    """The logs that a streaming query reads."""

    def __init__(self, request: ScanRequest) -> None:
        selection = request.selection
        if selection.limit is not None or selection.start is not None or selection.stop is not None:
            raise RefusedError("a stream does not support limit, startPosition and stopPosition")
        self._request = request
        # Headers suffice to find the ends of transactions, whatever is selected of them.
        self._positions = replace(request, what=What.TRANSACTIONS, selection=Selection())
        self._tables: dict[str, tuple[Step, Catalog]] = {}

    def latest(self, start: Offset, most: int | None = None, target: Offset | None = None) -> Offset:
        """Return the latest readable offset."""
        left = most
        offset = dict(start)
        with _logs(self._request) as groups:
            for server, chain in groups:
                if target is not None and server not in target:
                    continue
                until = None if target is None else target[server]
                for step, size in self._steps(chain, start.get(server), until, most):
                    offset[server] = step
                    if left is not None:
                        left -= size
                        if left <= 0:
                            return offset
        return offset

    def partitions(self, start: Offset, end: Offset) -> list[list[Slice]]:
        """Return the slices between two offsets, grouped by task."""
        slices: list[Slice] = []
        with _logs(self._request) as groups:
            for server, chain in groups:
                if server in end and end[server] != start.get(server):
                    slices += self._between(server, chain, start.get(server), end[server])
        return shares(slices, lambda part: part.size, self._request.split_bytes)

    def _steps(
        self, chain: list[ChainLog], start: Step | None, until: Step | None, most: int | None
    ) -> Iterator[tuple[Step, int]]:
        """Yield the possible offsets, with the bytes before each."""
        split = self._request.split_bytes if most is None else min(most, self._request.split_bytes)
        planner = self._planner(replace(self._positions, split_bytes=split), None, start)
        for ends, resumed in _remaining(chain, start, until):
            file = ends.file
            position = file.first_position if file.resumption is None else file.resumption.position
            for part in planner.slices(ends, resumed=resumed, growing=ends is chain[-1]):
                position = part.stop
                step = _step(ends, position, planner, whole=False)
                yield {**step, "seqno": part.seqno + part.transactions}, part.size
            # The rest of the log has no whole transaction.
            yield _step(ends, position, planner, whole=True), 0

    def _between(self, server: str, chain: list[ChainLog], start: Step | None, end: Step) -> list[Slice]:
        planner = self._planner(self._request, self._known(server, chain, start), start)
        slices: list[Slice] = []
        for ends, resumed in _remaining(chain, start, end):
            slices += planner.slices(ends, resumed=resumed, growing=ends is chain[-1])
        self._tables[server] = (end, planner.catalog)
        return slices

    def _known(self, server: str, chain: list[ChainLog], start: Step | None) -> Catalog | None:
        """Return the tables at a step: the cached ones, or by reading statements up to it again."""
        if self._request.what is What.TRANSACTIONS or start is None:
            return None
        # Popped, because a batch that fails midway leaves the catalog between two steps.
        at, catalog = self._tables.pop(server, (None, None))
        if at == start:
            return catalog
        planner = SlicePlanner(replace(self._request, selection=Selection()), [])
        if any(_key(ends) == start["file"] for ends in chain):
            for ends, resumed in _remaining(chain, None, start):
                for _ in planner.slices(ends, resumed=resumed, growing=True):
                    pass
                ends.file.resumption = None
        return planner.catalog

    @staticmethod
    def _planner(request: ScanRequest, catalog: Catalog | None, start: Step | None) -> SlicePlanner:
        if start is None:
            return SlicePlanner(request, [], catalog)
        return SlicePlanner(request, [], catalog, start["epoch"], start["seqno"])


@contextmanager
def _logs(request: ScanRequest) -> Iterator[list[tuple[str, list[ChainLog]]]]:
    """Open a request's logs, by server, without duplicates and in chain order."""
    with opened_chain(request) as chain:
        servers: dict[str, dict[str, ChainLog]] = {}
        for ends in chain:
            if ends.file.is_relay_log:
                raise RefusedError(
                    "a stream does not read relay logs, because replicas remove them once applied;"
                    " read the source's binary logs",
                    path=ends.file.path,
                )
            number, base = ends.facts.server
            servers.setdefault(f"{number}/{base}", {}).setdefault(_key(ends), ends)
        yield [(server, list(logs.values())) for server, logs in servers.items()]


def _remaining(
    chain: Sequence[ChainLog], start: Step | None, until: Step | None
) -> Iterator[tuple[ChainLog, bool]]:
    """Yield the logs between two steps, set up for reading; the first may have been read in part."""
    place, is_begun = 0, False
    if start is not None:
        place, is_begun = _place(chain, start)
    for number, ends in enumerate(chain[place:]):
        file, resumed = ends.file, is_begun and number == 0
        is_last = until is not None and _key(ends) == until["file"]
        if resumed or is_last:
            position = start["position"] if start is not None and resumed else file.first_position
            stop = until["position"] if until is not None and is_last else None
            file.resumption = Resumption(position, file.format, stop)
        yield ends, resumed
        if is_last:
            return
    if until is not None:
        raise AbsentError(f"the log {until['file']} existed when the batch was planned, but no longer does")


def _place(chain: Sequence[ChainLog], step: Step) -> tuple[int, bool]:
    """Return the index of the log to continue with, and whether it was read in part."""
    for place, ends in enumerate(chain):
        if _key(ends) == step["file"]:
            return place, True
    for place, ends in enumerate(chain):
        if step["next"] and ends.file.name == step["next"]:
            return place, False
    raise AbsentError(
        f"the stream has read {step['file']} up to {step['position']:,}, and neither that log nor"
        f" {step['next'] or 'the next one'} exists: what is in between was not read"
    )


def _step(ends: ChainLog, position: int, planner: SlicePlanner, *, whole: bool) -> Step:
    following = ""
    if whole:
        # A name without a number tells of no next one.
        is_named = ends.facts.stopped and ends.facts.number > 0
        following = ends.facts.next_log or (next_name(ends.file.name) if is_named else "")
    return {
        "file": _key(ends),
        "position": position,
        "next": following,
        "epoch": planner.epoch,
        "seqno": planner.seqno,
    }


def _key(ends: ChainLog) -> str:
    return f"{ends.file.name}.{ends.file.identity}"
