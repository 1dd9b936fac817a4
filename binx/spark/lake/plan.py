"""From files and statements, old and new, to what a load has to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from binx.spark.lake.model import ChangesFile, Life, LifeState, Plan, Statement, TableName, Version


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
    """
    raise NotImplementedError
