"""From files and statements, old and new, to what a load has to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace

from binx.dataset.dataset import escape_name
from binx.spark.lake.bases import PlacedBase
from binx.spark.lake.model import (
    ChangesFile,
    Epoch,
    Life,
    LifePlan,
    LifeState,
    Plan,
    Statement,
    TableName,
    Unit,
    Version,
)
from binx.spark.lake.timeline import Timeline

_KEYLESS = "it has no primary key any more: current/ stays as it was before; give a key with --key"
_WITHOUT_KEY = "it had no primary key when some of its rows were logged: rows that were alike count once"


def plan_load(
    history: Sequence[ChangesFile],
    arrived: Sequence[ChangesFile],
    statements: Sequence[Statement],
    versions: Mapping[tuple[TableName, str], Version],
    ranks: Mapping[str, int],
    states: Mapping[str, LifeState],
    *,
    keys: Mapping[str, Sequence[str]],
    rebuild: Collection[str] = (),
    scd2: bool = False,
    bases: Mapping[str, PlacedBase] | None = None,
) -> tuple[Plan, list[Life]]:
    """What to do, and all lives.

    Lives are traced from everything that is known, each time: what was applied and is still a prefix of a
    life is kept, and only the rest is applied; else (an older log came late, chains got another order) the
    life is made anew from history.

    Args:
        history: the files in ``history/``.
        arrived: new files.
        statements: all that have effects, of all loads; each transaction once.
        versions: the schema records by table and version.
        ranks: the rank of each chain.
        states: what is loaded, by the life's id.
        keys: columns of the key by table, as options give them.
        rebuild: names of tables to make anew.
        scd2: whether versions are kept.
        bases: where bases stand, by the chains of their rows.
    """
    timeline = Timeline(versions, ranks, bases)
    lives = timeline.trace([*history, *arrived], statements)
    plans = []
    for life in lives:
        if life.name is None:
            continue
        given = keys.get(str(life.name))
        if given is not None:
            _give_key(life, given)
        if not life.epochs[-1].key:
            if life.id in states:
                life.reasons.append(_KEYLESS)
            continue
        _fill_keys(life)
        former = None if str(life.name) in rebuild else states.get(life.id)
        made = _plan(life, timeline.committed, former, scd2=scd2)
        if made is not None:
            plans.append(made)
    ends = {life.id for life in lives if life.name is not None}
    empty: dict[str, tuple[tuple[int, int], ...]] = {}
    for file, first, last in timeline.empty:
        empty[file.identity] = (*empty.get(file.identity, ()), (first, last))
    return Plan(tuple(arrived), tuple(plans), tuple(sorted(set(states) - ends)), empty), lives


def _give_key(life: Life, names: Sequence[str]) -> None:
    """Let the key of a life be these columns of its end, under whatever names it had them before."""
    ids = {one.name.lower(): one.id for one in life.epochs[-1].columns}
    key = tuple(ids[name.lower()] for name in names if name.lower() in ids)
    if len(key) < len(names):
        return
    for place, epoch in enumerate(life.epochs):
        if set(key) <= {one.id for one in epoch.columns}:
            life.epochs[place] = replace(epoch, key=key)


def _fill_keys(life: Life) -> None:
    """Let epochs without a key have that of another, as far as they have its columns."""
    for place, epoch in enumerate(life.epochs):
        if epoch.key:
            continue
        ids = {one.id for one in epoch.columns}
        others = [one.key for one in (*reversed(life.epochs[:place]), *life.epochs[place:]) if one.key]
        key = next((key for key in others if set(key) <= ids), tuple(one.id for one in epoch.columns))
        life.epochs[place] = replace(epoch, key=key)
        if any(unit.epoch == place for unit in life.units):
            life.reasons.append(_WITHOUT_KEY)


def _steps(units: Sequence[Unit]) -> list[tuple[str, int]]:
    """What identifies units: files and epochs in order, however a file was cut since."""
    found: list[tuple[str, int]] = []
    for unit in units:
        step = (unit.file.identity, unit.epoch)
        if not found or found[-1] != step:
            found.append(step)
    return found


def _digest(life: Life, steps: Sequence[tuple[str, int]], epochs: int) -> str:
    told = [[_of_epoch(epoch) for epoch in life.epochs[:epochs]], list(steps)]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


def _of_epoch(epoch: Epoch) -> list[object]:
    return [[asdict(one) for one in epoch.columns], epoch.key, [one[:1] for one in epoch.changes]]


def _plan(
    life: Life,
    committed: Collection[tuple[str, int]],
    former: LifeState | None,
    *,
    scd2: bool,
) -> LifePlan | None:
    """What brings a life's state to its end; None where nothing does."""
    assert life.name is not None
    folder = f"{escape_name(life.name.db)}/{escape_name(life.name.table)}"
    if former is not None and scd2 and former.versions is None:
        former = None
    withheld = _withheld(life.units)
    if former is not None:
        late = _late(life.units, former, committed)
        steps = _steps(life.units)
        applied = steps[: former.units]
        same = _digest(life, applied, former.epochs) == former.digest and len(applied) == former.units
        if same and all(unit.epoch >= former.epochs - 1 for unit in late):
            rest = _after(life.units, former.units)
            if not rest and not late and former.epochs == len(life.epochs) and former.folder == folder:
                return None
            units = tuple(sorted([*rest, *late], key=lambda unit: (unit.at, unit.first)))
            return _made(life, folder, former, units, withheld, scd2=former.versions is not None)
    return _made(life, folder, None, tuple(life.units), withheld, scd2=scd2)


def _made(
    life: Life,
    folder: str,
    former: LifeState | None,
    units: tuple[Unit, ...],
    withheld: tuple[tuple[str, int], ...],
    *,
    scd2: bool,
) -> LifePlan:
    assert life.name is not None
    steps, digest = applied(life)
    return LifePlan(
        life.id, life.name, folder, former, tuple(life.epochs), units, steps, digest, withheld, scd2
    )


def applied(life: Life) -> tuple[int, str]:
    """The steps of a life and their digest, for the state that has them all."""
    steps = _steps(life.units)
    return len(steps), _digest(life, steps, len(life.epochs))


def _after(units: Sequence[Unit], count: int) -> list[Unit]:
    """The units behind so many steps."""
    seen = 0
    last = None
    for place, unit in enumerate(units):
        step = (unit.file.identity, unit.epoch)
        if step != last:
            if seen == count:
                return list(units[place:])
            seen += 1
            last = step
    return []


def _withheld(units: Sequence[Unit]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted({(unit.file.chain, scn) for unit in units for scn in unit.excluded}))


def _late(units: Sequence[Unit], former: LifeState, committed: Collection[tuple[str, int]]) -> list[Unit]:
    """The XA transactions that a load before left out, and that were committed since."""
    return [
        replace(unit, first=scn, last=scn, excluded=())
        for chain, scn in former.withheld
        if (chain, scn) in committed
        for unit in units
        if unit.file.chain == chain and unit.first <= scn <= unit.last
    ]
