"""Open logs in the order in which they were written, chain by chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.chain.ends import facts_of
from binx.log.identifiers import gtids_of
from binx.log.scan import find_transactions
from binx.log.selection.times import Position, index_of_file
from binx.log.succession import ChainProblem, LogFacts, ordered, problems_between


class ChainLog(NamedTuple):
    """An open log of a chain.

    Attributes:
        chain: number of its chain among the logs that it was ordered with.
    """

    file: BinlogFile
    facts: LogFacts
    chain: int = 0

    @classmethod
    def of(cls, file: BinlogFile) -> ChainLog:
        """Return a log by itself; it raises the errors of :func:`~binx.log.chain.ends.facts_of`."""
        return cls(file, facts_of(file))


def in_order(
    files: Iterable[BinlogFile], facts: Callable[[BinlogFile], LogFacts] = facts_of
) -> list[ChainLog]:
    """Sort open logs into the order in which they were written, chain by chain.

    Each file is told which log follows it: that decides whether the rest of an unfinished one may still come.

    Args:
        facts: reads what a log's first and last events say of its place.

    Returns:
        The logs, the first chain's as chain 0, and so on.
    """
    logs = [ChainLog(file, facts(file)) for file in files]
    chains = ordered([log.facts for log in logs])
    result = [logs[index]._replace(chain=chain) for chain, indexes in enumerate(chains) for index in indexes]
    for log, after in zip_longest(result, result[1:]):
        log.file.successor = after.facts if after is not None and after.chain == log.chain else None
    return result


def epochs(logs: Sequence[ChainLog]) -> list[int]:
    """For each log, return how many logs of its chain up to it are the first after a server start."""
    counts: dict[int, int] = {}
    result = []
    for log in logs:
        counts[log.chain] = counts.get(log.chain, 0) + log.file.format.at_startup
        result.append(counts[log.chain])
    return result


def chain_problems(logs: Sequence[ChainLog], contents: Sequence[GtidSet] | None = None) -> list[ChainProblem]:
    """Return the problems between ordered logs of the same chain.

    Args:
        contents: the GTIDs in each log; None reads those of logs that were not closed.
    """
    problems: list[ChainProblem] = []
    for number, (before, after) in enumerate(pairwise(logs)):
        if before.chain == after.chain:
            content = None if contents is None else contents[number]
            problems += problems_between(before.facts, after.facts, lambda: _content(before, content))  # noqa: B023
    return problems


def _content(log: ChainLog, known: GtidSet | None) -> GtidSet | None:
    """Return the GTIDs in a log; None if it is damaged, which its reader reports."""
    if known is not None:
        return known
    try:
        return gtids_of(find_transactions(log.file, verify=False))
    except BinxError:
        return None


def absent_positions(logs: Sequence[ChainLog], *positions: Position | None) -> list[str]:
    """Return a sentence for each position that is after the end of its log.

    Raises:
        AbsentError, UsageError: as :func:`~binx.log.selection.times.index_of_file`.
    """
    names = [log.facts.name for log in logs]
    found = [(position, logs[index_of_file(position, names)].file) for position in positions if position]
    return [
        f"{file.path}: it has no position {position.offset}, but ends at {file.size}"
        for position, file in found
        if position.offset > file.size
    ]
