"""What logs and exports lack of a table: what selections left out, servers in turn, and foreign keys.

Only MySQL logs which rows foreign keys delete or change, since 9.6, by default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binx.event.gtid.sources import DomainSource
from binx.lake.arrow.images import is_before
from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.loaded_chains import ChangePosition, LoadedChains
from binx.lake.dataset.manifests import Manifest
from binx.lake.dataset.spans import FILE_BITS
from binx.lake.dataset.statement_effects import RecordedStatement, StatementTarget, Unlogged, second_table
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import Loss
from binx.lake.table_name import TableName
from binx.lake.tables.lives import TableHistory
from binx.rows.change_groups import ChangePlace
from binx.rows.columns.schema import folded_name

STATEMENTS = "statements"
"""The source of losses by changes that were logged as statements."""

Cause = tuple[TableName, str]
"""A table, and one of its columns in lower case whose values changed, or an empty text for deleted rows."""


def referred(effect: Mapping[str, Any]) -> Iterator[Cause]:
    """Yield what changes rows of an effect's table through its foreign keys."""
    for parent in effect.get("parents") or ():
        table = TableName(parent["db"], parent["table"])
        if parent["deletes"]:
            yield table, ""
        yield from ((table, folded_name(column)) for column in parent["columns"])


def followed_columns(statements: Iterable[RecordedStatement]) -> dict[TableName, set[str]]:
    """Return the columns whose changes other tables follow, by all names of their tables."""
    followed: dict[TableName, set[str]] = defaultdict(set)
    for statement in statements:
        for effect in statement.effects:
            for table, column in referred(effect):
                if column:
                    followed[table].add(column)
            if effect["action"] == "renamed":
                former = TableName(effect.get("db") or "", effect["table"])
                if former in followed:
                    followed[second_table(effect)] |= followed[former]
    return followed


class Counting(NamedTuple):
    """Which changes of a chain count: up to a commit version, before a change, without some transactions."""

    last: int
    before: ChangePlace | None = None
    apart_from: Collection[int] = ()

    def of(self, rows: pa.Table) -> pa.Table:
        """Return the rows that count."""
        versions = rows.column("_commit_version")
        mask = pc.less_equal(versions, self.last) if self.before is None else is_before(rows, self.before)
        if self.apart_from:
            apart = pc.is_in(versions, pa.array([*self.apart_from], pa.int64()))
            mask = pc.and_(mask, pc.invert(apart))
        return rows.filter(mask)


def causes_in(manifest: Manifest, followed: Mapping[TableName, set[str]], counting: Counting) -> set[Cause]:
    """Return the changes in a log that foreign keys follow, on servers that do not log what these change."""
    causes: set[Cause] = set()
    last = -1 if manifest.span is None else manifest.span[1]
    all_count = counting.before is None and not counting.apart_from and last <= counting.last
    for table, has_deletes in manifest.unlogged.items():
        files = [file for file in manifest.changes if file.table == table]
        columns = followed.get(table, set())
        found = {""} if all_count or not files else set()
        for file in files if columns or not all_count else ():
            found |= _changes_in(file, columns, None if all_count else counting)
        causes |= {(table, column) for column in found if column or has_deletes}
    return causes


def _changes_in(file: ChangesFile, columns: Collection[str], counting: Counting | None) -> set[str]:
    """Return those of the columns that an update in a file changed, and an empty text for deletes.

    All of them if that is not known.
    """
    changed: set[str] = set()
    try:
        with LakeStore(file.root).parquet(file.path) as opened:
            names = {folded_name(name): name for name in opened.schema_arrow.names}
            if not names.keys() >= {*columns}:
                return {*columns, ""}
            wanted = ["_change_type", "_commit_version", "_row", "_present"]
            last: pa.Table | None = None
            for group in range(opened.metadata.num_row_groups):
                rows = opened.read_row_group(
                    group, columns=[*wanted, *(names[column] for column in columns)], use_threads=False
                )
                rows = rows if counting is None else counting.of(rows)
                rows = rows if last is None else pa.concat_tables([last, rows]).unify_dictionaries()
                changed |= {column for column in columns if _is_changed(rows, names[column])}
                if _has_deletes(rows):
                    changed.add("")
                last = rows.slice(max(0, len(rows) - 1))
    except (OSError, pa.ArrowException):
        return {*columns, ""}
    return changed


def _has_deletes(rows: pa.Table) -> bool:
    deletes = pc.equal(rows.column("_change_type").cast(pa.string()), "delete")
    return bool(pc.any(deletes, min_count=0).as_py())


def _is_changed(rows: pa.Table, name: str) -> bool:
    """Whether an update's images, which are neighbours, have different values; absent ones did not change."""
    kinds = rows.column("_change_type").cast(pa.string())
    after = 1 + np.flatnonzero(pc.equal(kinds, "update_postimage").to_numpy()[1:])
    values = rows.column(name)
    before, now = values.take(pa.array(after - 1)), values.take(pa.array(after))
    is_null = pc.and_(now.is_null(), rows.column("_present").take(pa.array(after)).is_null())
    differs = pc.or_kleene(pc.not_equal(before, now), pc.and_(before.is_valid(), is_null))
    return bool(pc.any(differs, min_count=0).as_py())


def unlogged(
    lives: Sequence[TableHistory],
    causes: Collection[Cause],
    asked: str = "",
    checked: Collection[TableName] = (),
) -> dict[str, str]:
    """Return a sentence about unlogged changes for each life that may have any, by id.

    A table that is reached changes the rows of those that refer to it in turn.

    Args:
        asked: the id of a life of whose rows the caller checks what foreign keys to some tables did to them.
        checked: these tables.
    """
    sentences: dict[str, str] = {}
    reached: set[TableName] = set()

    def applies(life: TableHistory, cause: Cause) -> bool:
        is_known = life.id == asked and cause[0] in checked
        return not is_known and (cause in causes or cause[0] in reached)

    while True:
        new = {
            life.id: sorted({str(table) for table, _ in own})
            for life in lives
            if life.id not in sentences and (own := [cause for cause in life.parents if applies(life, cause)])
        }
        if not new:
            return sentences
        for number, tables in new.items():
            sentences[number] = (
                f"rows that foreign keys deleted or changed with rows of {', '.join(tables)} are not logged"
            )
        reached |= {name for life in lives if life.id in new for _, name in life.names}


def lacking_of(life: TableHistory, chains: LoadedChains, ranks: Mapping[str, int]) -> list[str]:
    """Return sentences about what logs and exports lack of a life."""
    return [*_left_out(life, chains, ranks), *_out_of_turn(life, chains, ranks)]


def hit_by_statements(
    life: TableHistory, unlogged: Mapping[StatementTarget, Unlogged], ranks: Mapping[str, int]
) -> dict[StatementTarget, Unlogged]:
    """Return the changes logged as statements, without their rows, that may be changes of a life.

    Those of chains without a rank are not.
    """
    since = life.epochs[0].since if life.epochs else None
    return {
        target: changes
        for target, changes in unlogged.items()
        if target.chain in ranks
        and (since is None or ChangePosition(ranks[target.chain], changes.last[0]) > since)
        and any(map(target.takes, names_in(life, ranks[target.chain], target.log)))
    }


def statements_loss(hit: Mapping[StatementTarget, Unlogged]) -> Loss | None:
    """Return the loss of changes logged as statements, None if there are none."""
    if not hit:
        return None
    count = sum(changes.count for changes in hit.values())
    return Loss(
        f"changes logged as statements: {count:,}; they are only in statements/ of the data set",
        min(changes.since for changes in hit.values()),
        STATEMENTS,
    )


def differing_sentence(count: int, *, by_statements: bool, key_is_given: bool) -> str:
    """Return what logged images say that do not fit the rows before them.

    Args:
        by_statements: whether changes logged as statements may have made the difference.
        key_is_given: whether the key by which rows are told apart is no primary key of the logs.
    """
    text = f"row changes that do not fit the rows before them: {count:,}"
    unlogged = "something was not logged, as with sql_log_bin = 0, or a log is missing"
    causes = [] if by_statements else [unlogged]
    if key_is_given:
        causes.append("several rows have the same key of --key, and one of them is kept")
    return f"{text}; {', or '.join(causes)}" if causes else text


def _left_out(life: TableHistory, chains: LoadedChains, ranks: Mapping[str, int]) -> list[str]:
    """Return sentences about what exports with a selection lack of a life."""
    logs: dict[str, list[str]] = defaultdict(list)
    for chain, rank in ranks.items():
        for number, log in chains[chain].logs.items():
            if not log.selected:
                continue
            names = list(names_in(life, rank, number))
            # An export that lacks nothing makes up for other exports of the same log.
            lacking = [max((export.lacks(name) for name in names), default="") for export in log.selected]
            if all(lacking):
                logs[min(lacking)].append(chains[chain].called(number))
    return [
        f"{len(listed)} {'log was' if len(listed) == 1 else 'logs were'} {text}: {listed[0]}"
        + (" and others" if len(listed) > 1 else "")
        for text, listed in logs.items()
    ]


def names_in(life: TableHistory, rank: int, number: int) -> Iterator[TableName]:
    """Yield the table's names while a log was written; none if it did not exist yet."""
    begin, end = (
        ChangePosition(rank, number << FILE_BITS),
        ChangePosition(rank, ((number + 1) << FILE_BITS) - 1),
    )
    ends = [since for since, _ in life.names[1:]]
    for (since, name), until in zip(life.names, [*ends, None], strict=True):
        if (since is None or since <= end) and (until is None or until >= begin):
            yield name


def _out_of_turn(life: TableHistory, chains: LoadedChains, ranks: Mapping[str, int]) -> list[str]:
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
        if chains.took_over(one, other) or chains.took_over(other, one):
            continue
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
                f" (log_slave_updates): changes of {one} after those of {other} are applied before them;"
                " if one took over from the other, --chain says which comes first"
            )
    return sentences
