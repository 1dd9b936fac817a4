"""Decide what a table's rows lack, and with that whether they are complete: for every command and view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from binx.lake.dataset.loaded_chains import ChangePosition, LogLoss
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
    in_logs: Mapping[str, Sequence[LogLoss]],
    merged: MergedRows,
    followed: str | None,
    *,
    former: LifeRecord | None = None,
    since: str = "",
    error: str = "",
) -> LifeRecord:
    """Return the facts about a table, of which all say in the same words whether it is complete.

    Args:
        in_logs: what the logs lack, as :func:`losses_of_logs` tells.
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
        text = differing_sentence(
            merged.differing, by_statements=by_statements is not None, key_is_given=life.key_is_given
        )
        losses.append(Loss(text, begun, _DIFFERING))
    found = [*merged.lost, *([] if followed is None else [followed])]
    known = {loss.reason for loss in losses}
    losses += [Loss(text, since) for text in found if text not in known]
    reasons = [
        *life.reasons,
        *lacking_of(life, state.chains, ranks),
        *_while_there(life, in_logs, ranks),
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


def losses_of_logs(state: State, last: Mapping[str, int]) -> dict[str, list[LogLoss]]:
    """Return by chain which logs are missing or lost something, up to the last commit versions that count."""
    return {
        name: [
            loss
            for loss in (*state.chains.gaps(name), *state.chains[name].losses())
            if loss.number <= last[name] >> FILE_BITS
        ]
        for name in state.order
    }


def _while_there(
    life: TableHistory, in_logs: Mapping[str, Iterable[LogLoss]], ranks: Mapping[str, int]
) -> Iterator[str]:
    """Yield sentences about logs that are missing, or lost something, while a table was there."""
    since = life.epochs[0].since or ChangePosition(0, 0)
    for name, rank in ranks.items():
        if rank < since.rank:
            continue
        first = since.scn >> FILE_BITS if rank == since.rank else 0
        for loss in in_logs[name]:
            is_there = loss.number >= first + loss.is_gap
            if is_there and (loss.table is None or loss.table in names_in(life, rank, loss.number)):
                yield loss.text
