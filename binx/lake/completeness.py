"""Decide what a table's rows lack, and with that whether they are complete: for every command and view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from binx.lake.dataset.loaded_chains import ChangePosition, LoadedChains
from binx.lake.dataset.spans import FILE_BITS
from binx.lake.state.loaded_state import LifeRecord, Loss, State
from binx.lake.tables.lacking import (
    STATEMENTS,
    differing_sentence,
    hit_by_statements,
    lacking_of,
    names_in,
    statements_loss,
)
from binx.lake.tables.lives import TableHistory

_DIFFERING = "differing"
"""The source of losses that before images show."""


class MergedRows(NamedTuple):
    """What merging the rows of a table found.

    Attributes:
        lost: sentences about values and rows that became unknown as columns got other types.
        differing: the number of logged images that did not fit the rows before them.
        unknown: the number of rows with values that only the server knows.
    """

    lost: Sequence[str] = ()
    differing: int = 0
    unknown: int = 0


def record_of(
    life: TableHistory,
    state: State,
    last: Mapping[str, int],
    merged: MergedRows,
    followed: str | None,
    *,
    former: LifeRecord | None = None,
    since: str = "",
    error: str = "",
) -> LifeRecord:
    """Return the facts about a table, of which all say in the same words whether it is complete.

    Args:
        last: the last commit version of each chain that counts.
        followed: what is said of rows that foreign keys changed without a log; None if there are none.
        former: the facts that an earlier load recorded, whose losses stay.
        since: the first commit of what is new.
        error: why its rows could not be merged.
    """
    assert life.name is not None
    ranks = ranks_of(life, state)
    kept = () if former is None else former.losses
    losses = [loss for loss in kept if loss.source not in (STATEMENTS, _DIFFERING)]
    by_statements = statements_loss(hit_by_statements(life, state.unlogged, ranks))
    losses += [] if by_statements is None else [by_statements]
    if merged.differing:
        begun = next((loss.since for loss in kept if loss.source == _DIFFERING), since)
        losses.append(Loss(differing_sentence(merged.differing), begun, _DIFFERING))
    found = [*merged.lost, *([] if followed is None else [followed])]
    known = {loss.reason for loss in losses}
    losses += [Loss(text, since) for text in found if text not in known]
    reasons = [
        *life.reasons,
        *lacking_of(life, state.chains, ranks),
        *_in_logs(life, state.chains, ranks, last),
    ]
    return LifeRecord(
        name=life.name,
        whole=life.whole,
        reasons=tuple(reasons),
        losses=tuple(losses),
        unknown=merged.unknown,
        error=error,
        seen=former.seen if former else (),
        shard=life.shard,
    )


def ranks_of(life: TableHistory, state: State) -> dict[str, int]:
    """Return the ranks of the chains that a table's changes are in: with shards, those of one server."""
    shards = state.shard_of_chains()
    return {chain: rank for chain, rank in state.ranks.items() if shards.get(chain, "") == life.shard}


def losses_of_logs(state: State, last: Mapping[str, int]) -> list[str]:
    """Return sentences about logs that are missing or lost something, whichever tables were there."""
    return [
        sentence
        for name, chain in state.chains.by_name.items()
        for sentence in [
            *state.chains.gaps(name, last=last[name] >> FILE_BITS),
            *(text for number in chain.numbers for _, text in chain.losses_in(number)),
        ]
    ]


def _in_logs(
    life: TableHistory, chains: LoadedChains, ranks: Mapping[str, int], last: Mapping[str, int]
) -> Iterator[str]:
    """Yield sentences about logs that are missing, or lost something, while a table was there."""
    since = life.epochs[0].since or ChangePosition(0, 0)
    for name, rank in ranks.items():
        if rank < since.rank:
            continue
        first, end = since.scn >> FILE_BITS if rank == since.rank else 0, last[name] >> FILE_BITS
        yield from chains.gaps(name, first, end)
        for number in chains[name].numbers:
            for table, text in chains[name].losses_in(number) if first <= number <= end else ():
                if table is None or table in names_in(life, rank, number):
                    yield text
