"""Statements and their effects on tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.spans import FILE_BITS
from binx.lake.table_name import TableName


@dataclass(frozen=True, slots=True)
class RecordedStatement:
    """A row of ``statements/`` that has effects (docs/dataset.md).

    ``sql_mode`` is None where its server logs none. ``time`` is the event's, ``committed`` the commit's (µs
    since 1970).
    """

    chain: str
    scn: int
    ordinal: int
    transaction: str
    effects: tuple[Mapping[str, Any], ...]
    sql_mode: str | None = None
    flavour: str = "mysql"
    time: int = 0
    committed: int = 0


def spelled_as_rows(
    statements: Sequence[RecordedStatement], files: Iterable[ChangesFile]
) -> list[RecordedStatement]:
    """Return statements with names as the rows have them.

    A server with ``lower_case_table_names`` logs rows with names in lower case, and statements as they were
    written. It is told by a table that a statement spells in another way than all rows of its server.
    """
    tables: dict[str, set[TableName]] = defaultdict(set)
    for file in files:
        tables[file.chain].add(file.table)
    cased = {chain for chain, names in tables.items() if any(name != _lower(name) for name in names)}
    lower = set().union(*(names for chain, names in tables.items() if chain not in cased))
    folded = [statement for statement in statements if statement.chain not in cased]
    spelled = {name for statement in folded for effect in statement.effects for name in names_of(effect)}
    if not any(name != _lower(name) and _lower(name) in lower for name in spelled):
        return list(statements)
    return [
        statement if statement.chain in cased
        else replace(statement, effects=tuple(map(_in_lower_case, statement.effects)))
        for statement in statements
    ]  # fmt: skip


def _lower(name: TableName) -> TableName:
    return TableName(name.db.lower(), name.table.lower())


def names_of(effect: Mapping[str, Any]) -> Iterator[TableName]:
    """Yield the tables that an effect concerns."""
    if effect.get("table") is not None:
        yield TableName(effect.get("db") or "", effect["table"])
    if effect.get("new_table") is not None:
        yield second_table(effect)


def _in_lower_case(effect: Mapping[str, Any]) -> Mapping[str, Any]:
    names = {
        field: effect[field].lower()
        for field in ("db", "table", "new_db", "new_table")
        if effect.get(field) is not None
    }
    parents = [
        {**parent, "db": parent["db"].lower(), "table": parent["table"].lower()}
        for parent in effect.get("parents") or ()
    ]
    return {**effect, **names, "parents": parents}


def second_table(effect: Mapping[str, Any]) -> TableName:
    """Return the second table of an effect that concerns two: the new name, or the other of an exchange."""
    return TableName(effect.get("new_db") or effect.get("db") or "", effect["new_table"])


_TABLE = r" (?:`[^`]+` \. )?`[^`]+`"
_CHANGES_ONE = re.compile(
    r"(?:(?:INSERT|REPLACE)(?: LOW_PRIORITY| HIGH_PRIORITY| DELAYED)?(?: IGNORE)?(?: INTO)?"
    r"|LOAD DATA .*? INTO TABLE"
    rf"|UPDATE(?: LOW_PRIORITY)?(?: IGNORE)?(?={_TABLE}(?: AS)?(?: `[^`]+`)? SET )"
    r"|DELETE(?: LOW_PRIORITY)?(?: QUICK)?(?: IGNORE)? FROM"
    rf"(?={_TABLE}(?: WHERE | ORDER | LIMIT | RETURNING |$)))"
    r" (?:`(?P<db>[^`]+)` \. )?`(?P<table>[^`]+)`(?: |$)",
    re.DOTALL,
)
"""Digests of statements that change the rows of one table, which they name."""

_OF_DATABASE = re.compile(r"`([^`]+)` \. ")


@dataclass(frozen=True, slots=True, order=True)
class StatementTarget:
    """What statements changed whose rows are not in the log.

    An empty ``table`` stands for every table of a database, an empty ``db`` for every database.
    """

    chain: str
    log: int
    db: str
    table: str

    def takes(self, name: TableName) -> bool:
        """Return whether it may be this table; case is ignored, as servers differ in it."""
        return self.db.lower() in ("", name.db.lower()) and self.table.lower() in ("", name.table.lower())


@dataclass(frozen=True, slots=True)
class Unlogged:
    """The statements that changed a target within a log.

    ``last`` is the last one's commit version and number in its transaction, ``since`` the first commit time.
    """

    count: int
    last: tuple[int, int]
    since: str


def targets_of(chain: str, row: Mapping[str, Any]) -> Iterator[StatementTarget]:
    """Yield what a logged statement changed: the table that its digest names, else all of its databases."""
    log, text = row["commit_version"] >> FILE_BITS, row["digest_text"] or ""
    one = _CHANGES_ONE.match(text)
    if one is not None:
        yield StatementTarget(chain, log, one["db"] or row["db"], one["table"])
        return
    for db in sorted({row["db"], *_OF_DATABASE.findall(text)}):
        yield StatementTarget(chain, log, db, "")


def once(statements: Iterable[RecordedStatement], ranks: Mapping[str, int]) -> list[RecordedStatement]:
    """Deduplicate statements: of several chains that have one, the first chain's counts."""
    first: dict[Any, RecordedStatement] = {}
    for statement in sorted(
        statements, key=lambda statement: (ranks[statement.chain], statement.scn, statement.ordinal)
    ):
        first.setdefault(
            (statement.transaction or (statement.chain, statement.scn), statement.ordinal, statement.time),
            statement,
        )
    return list(first.values())


def with_former_names(
    wanted: Callable[[TableName], bool], statements: Sequence[RecordedStatement]
) -> Callable[[TableName], bool]:
    """Return a predicate that also selects the former names of wanted tables."""
    renamed: dict[TableName, set[TableName]] = defaultdict(set)
    for statement in statements:
        for effect in statement.effects:
            if effect["action"] == "renamed":
                renamed[second_table(effect)].add(TableName(effect.get("db") or "", effect["table"]))
    former: set[TableName] = set()
    names = [name for name in renamed if wanted(name)]
    while names:
        more = renamed.get(names.pop(), set()) - former
        former |= more
        names += more
    return lambda name: wanted(name) or name in former
