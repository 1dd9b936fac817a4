"""What logs and exports lack of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from binx.event.gtid.sources import DomainSource
from binx.spark.lake.dataset.chains import Chains, Position
from binx.spark.lake.dataset.spans import FILE_BITS
from binx.spark.lake.table_name import TableName
from binx.spark.lake.tables.lives import Life


def lacking_of(life: Life, chains: Chains, ranks: Mapping[str, int]) -> list[str]:
    """Return sentences about what logs and exports lack of a life."""
    return [*_left_out(life, chains, ranks), *_out_of_turn(life, chains, ranks)]


def _left_out(life: Life, chains: Chains, ranks: Mapping[str, int]) -> list[str]:
    """Return sentences about what exports with a selection lack of a life."""
    logs: dict[str, list[str]] = defaultdict(list)
    for chain, rank in ranks.items():
        for number, log in chains[chain].logs.items():
            names = list(_names_in(life, rank, number)) if log.selected else []
            # An export that lacks nothing makes up for other exports of the same log.
            lacking = [max((export.lacks(name) for name in names), default="") for export in log.selected]
            if lacking and all(lacking):
                logs[min(lacking)].append(chains[chain].called(number))
    return [
        f"{len(listed)} {'log was' if len(listed) == 1 else 'logs were'} {text}: {listed[0]}"
        + (" and others" if len(listed) > 1 else "")
        for text, listed in logs.items()
    ]


def _names_in(life: Life, rank: int, number: int) -> Iterator[TableName]:
    """Yield the table's names while a log was written; none if it did not exist yet."""
    begin, end = Position(rank, number << FILE_BITS), Position(rank, ((number + 1) << FILE_BITS) - 1)
    ends = [since for since, _ in life.names[1:]]
    for (since, name), until in zip(life.names, [*ends, None], strict=True):
        if (since is None or since <= end) and (until is None or until >= begin):
            yield name


def _out_of_turn(life: Life, chains: Chains, ranks: Mapping[str, int]) -> list[str]:
    """Return sentences about servers that took turns in a life's changes without repeating each other's.

    Changes are applied chain by chain. MariaDB's GTIDs count the transactions of a domain, whichever server
    logs them; so they show if the first of two chains has later changes than the second one's own.
    """
    logs: dict[str, set[int]] = defaultdict(set)
    for unit in life.units:
        if chains[unit.file.chain].at is None:
            logs[unit.file.chain].add(unit.first >> FILE_BITS)
    sentences = []
    for one, other in combinations(sorted(logs, key=ranks.__getitem__), 2):
        first, second = chains[one], chains[other]
        last = {
            (source.domain, number)
            for log in logs[one]
            for source, _, number in first.logs[log].last
            if isinstance(source, DomainSource)
        }
        own = [
            (source.domain, number)
            for source, number, _ in second.gtids - first.gtids
            if isinstance(source, DomainSource) and source.server_id == second.server_id
        ]
        if any(
            domain == other_domain and number > low for domain, number in last for other_domain, low in own
        ):
            sentences.append(
                f"{one} and {other} took turns, and their logs do not repeat each other's changes"
                f" (log_slave_updates): changes of {one} behind those of {other} are applied before them"
            )
    return sentences
