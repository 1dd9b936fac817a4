"""Compare the effects of one transaction on rows and definitions, as logged by two servers.

The effect on a table is the set of row images removed and added. If images are complete, their order is
irrelevant: servers without a key to find rows by change them in any order, and changes of different tables
interleave.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, NamedTuple

from binx.rows.columns.schema import DEFAULT_CONTEXT
from binx.rows.ddl.parse import first_word
from binx.rows.ddl.parsed_statements import DropTables, changed_tables
from binx.rows.ddl.tokens import NotUnderstoodError, Token, TokenKind, tokens
from binx.rows.logged_statements import Statement

_SAVEPOINTS = ("savepoint", "release")


class StatementEffect(NamedTuple):
    """The effect of a statement on definitions or on its transaction.

    Attributes:
        tables: the tables it changes, with their databases.
        words: the remaining words; for a statement that is not parsed, the default database and the text.
        makes_rows: whether it creates a table with the rows of a query, which may be logged as rows too.
    """

    tables: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    makes_rows: bool = False


def statement_form(statement: Statement) -> StatementEffect | None:
    """Return the form of a statement that changes no rows; None if it has no lasting effect."""
    if statement.kind == "other":
        return _of_transaction(statement)
    context = statement.context or DEFAULT_CONTEXT
    try:
        sql_tokens = list(tokens(statement.sql, context))
    except NotUnderstoodError:
        return StatementEffect((), (statement.db, statement.sql))
    followed = statement.followed
    if followed is not None and followed.is_temporary:
        return None
    parsed = None if followed is None else followed.parsed
    tables = changed_tables(parsed, statement.db)
    if isinstance(parsed, DropTables):
        return StatementEffect(tuple(sorted(tables)), ("DROP",))
    if not tables:
        return StatementEffect((), (statement.db, *map(_word, sql_tokens)))
    words = tuple(_without_databases(sql_tokens, {db for db, _ in tables}))
    return StatementEffect(tables, words, statement.hides_rows)


def _of_transaction(statement: Statement) -> StatementEffect | None:
    """Return a transaction control statement's form: XA and incidents count, savepoints do not."""
    word = first_word(statement.sql)
    if word in _SAVEPOINTS or (word == "rollback" and len(statement.sql.split()) > 1):
        return None
    return StatementEffect((), tuple(statement.sql.split()))


def _without_databases(sql_tokens: list[Token], databases: set[str]) -> list[str]:
    """Return a statement's words without the database qualifiers of its tables."""
    words = []
    index = 0
    while index < len(sql_tokens):
        token = sql_tokens[index]
        is_name = token.kind in (TokenKind.WORD, TokenKind.NAME) and token.text in databases
        if is_name and index + 1 < len(sql_tokens) and sql_tokens[index + 1].text == ".":
            index += 2
            continue
        words.append(_word(token))
        index += 1
    return words


def _word(token: Token) -> str:
    """Normalize a word: column names are case-insensitive, strings are not."""
    return f"'{token.text}" if token.kind is TokenKind.STRING else token.text.upper()


ROWS_KEPT = 1000
"""Maximum number of a transaction's row changes that are kept individually."""

_MATCHED_ROWS = 200
"""Maximum number of a table's row changes that are matched regardless of order."""

_MODULUS = 1 << 128
_IMAGES = ("before", "after")


class Verdict(Enum):
    """The result of comparing two accounts of one transaction."""

    SAME = "same"
    OTHER_COLUMNS = "other columns"
    """The rows are equal in the columns that both have; one side logged more of them."""
    NOT_COMPARED = "not compared"
    """One side logged statements where the other logged row changes."""
    DIFFERENT = "different"


class TransactionTableEffect:
    """The effect of a transaction on one table.

    Attributes:
        count: number of row changes.
        net: sum of the digests of the images added, minus those removed.
        changes: sum of the digests of the changes, independent of their order.
        ordered: digest of the changes in their order.
        shapes: the columns of images, by type of change and image.
        rows: the changes that are kept individually.
    """

    def __init__(self) -> None:
        self.count = 0
        self.net = 0
        self.changes = 0
        self.ordered = b""
        self.shapes: set[tuple[str, str, tuple[str, ...]]] = set()
        self.rows: list[dict[str, Any]] = []

    def take(self, row: dict[str, Any], *, keep: bool) -> None:
        """Add a row change in the form of ``extract --format json --rows``."""
        self.count += 1
        digests = []
        for image, sign in zip(_IMAGES, (-1, 1), strict=True):
            columns = row.get(image)
            if columns is not None:
                digest = _digest(columns)
                digests.append(digest)
                self.net = (self.net + sign * int.from_bytes(digest)) % _MODULUS
                self.shapes.add((row["type"], image, tuple(columns)))
        if row.get("json_diff"):
            digests.append(_digest(row["json_diff"]))
            self.shapes.add((row["type"], "json_diff", tuple(row["json_diff"])))
        change = _digest([row["type"], [digest.hex() for digest in digests]])
        self.changes = (self.changes + int.from_bytes(change)) % _MODULUS
        self.ordered = blake2b(self.ordered + change, digest_size=16).digest()
        if keep:
            self.rows.append(row)

    @property
    def columns(self) -> set[tuple[str, ...]]:
        """The column sets of the images."""
        return {columns for _, _, columns in self.shapes}

    @property
    def has_whole_before(self) -> bool:
        """Whether the before images of updates have all columns of their after images."""
        updates = [(image, set(columns)) for kind, image, columns in self.shapes if kind == "update"]
        before = [columns for image, columns in updates if image == "before"]
        return all(old >= columns for old in before for image, columns in updates if image != "before")


class TransactionEffect:
    """The effect of a transaction.

    Attributes:
        definitions: schema changes and XA steps.
        texts: row changes that are logged as statements, with everything that determines their effect.
        tables: effects on rows, by (db, table).
        kept_rows: number of row changes that are kept individually.
    """

    def __init__(self) -> None:
        self.definitions: list[StatementEffect] = []
        self.texts: list[tuple[Any, ...]] = []
        self.tables: dict[tuple[str, str], TransactionTableEffect] = {}
        self.kept_rows = 0

    def take_row(self, row: dict[str, Any]) -> None:
        """Add a row change."""
        keep = self.kept_rows < ROWS_KEPT
        self.kept_rows += keep
        table = self.tables.setdefault((row["db"], row["table"]), TransactionTableEffect())
        table.take(row, keep=keep)

    @property
    def is_kept(self) -> bool:
        """Whether all row changes are kept individually."""
        return self.kept_rows == sum(table.count for table in self.tables.values())


class Comparison(NamedTuple):
    """The result of comparing two accounts of a transaction.

    Attributes:
        verdict: the result.
        needs_rows: whether the verdict is not final yet because some rows are not kept; they must be compared
            in order.
    """

    verdict: Verdict
    needs_rows: bool = False


def compared(left: TransactionEffect, right: TransactionEffect) -> Comparison:
    """Compare two accounts of one transaction."""
    if left.definitions != right.definitions:
        return Comparison(_of_definitions(left.definitions, right.definitions))
    if left.texts != right.texts:
        # If a side has rows too, the other may have logged the same change either way.
        alike = bool(left.texts) == bool(right.texts) and not left.tables and not right.tables
        loads = any("LOAD" in text[1][:5].upper() for text in (*left.texts, *right.texts))
        return Comparison(Verdict.DIFFERENT if alike and not loads else Verdict.NOT_COMPARED)
    verdict = Verdict.SAME
    for name in left.tables.keys() | right.tables.keys():
        ours, theirs = (
            left.tables.get(name) or TransactionTableEffect(),
            right.tables.get(name) or TransactionTableEffect(),
        )
        if _is_same(ours, theirs):
            continue
        if ours.shapes == theirs.shapes or not (ours.count and theirs.count):
            return Comparison(Verdict.DIFFERENT)
        if not (left.is_kept and right.is_kept):
            return Comparison(Verdict.NOT_COMPARED, needs_rows=True)
        if not _match(ours, theirs):
            return Comparison(Verdict.DIFFERENT)
        verdict = Verdict.OTHER_COLUMNS
    return Comparison(verdict)


def _of_definitions(left: Sequence[StatementEffect], right: Sequence[StatementEffect]) -> Verdict:
    """Compare definitions: CREATE TABLE … SELECT as text may be rows on the other side."""
    created = {form.tables for form in (*left, *right) if form.makes_rows}
    rest = [[form for form in forms if form.tables not in created] for forms in (left, right)]
    return Verdict.NOT_COMPARED if created and rest[0] == rest[1] else Verdict.DIFFERENT


def _is_same(left: TransactionTableEffect, right: TransactionTableEffect) -> bool:
    if left.ordered == right.ordered:
        return True
    if len(left.columns | right.columns) <= 1:
        # All images have the same columns, so removed and added rows cancel out.
        return left.net == right.net
    return left.changes == right.changes and left.has_whole_before


def _match(left: TransactionTableEffect, right: TransactionTableEffect) -> bool:
    """Whether the rows of a table are equal in the columns that both sides have."""
    if left.count != right.count:
        return False
    if all(map(agree, left.rows, right.rows)):
        return True
    if left.count > _MATCHED_ROWS or not (left.has_whole_before or right.has_whole_before):
        return False
    return not unmatched(left.rows, right.rows)[0]


def unmatched(left: Iterable[dict[str, Any]], right: Iterable[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Return the indexes of each side's rows that agree with no row of the other."""
    only_left: list[int] = []
    rest = dict(enumerate(right))
    for index, row in enumerate(left):
        match = next((number for number, candidate in rest.items() if agree(row, candidate)), None)
        if match is None:
            only_left.append(index)
        else:
            del rest[match]
    return only_left, list(rest)


def agree(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two row changes are equal in everything that both sides logged."""
    if any(left.get(name) != right.get(name) for name in ("type", "db", "table", "statement")):
        return False
    for image in _IMAGES:
        ours, theirs = left.get(image) or {}, right.get(image) or {}
        if any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys()):
            return False
    return left["type"] != "update" or (_has_changes_of(left, right) and _has_changes_of(right, left))


def _has_changes_of(update: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether an update has every column that the other one changed, except those that it computes."""
    before, after = other.get("before") or {}, other.get("after") or {}
    has = (update.get("after") or {}).keys() | (update.get("json_diff") or {}).keys()
    has |= update.get("computed", set())
    return all(name in has for name in before.keys() & after.keys() if before[name] != after[name])


def _digest(value: Any) -> bytes:
    return blake2b(json.dumps(value).encode(), digest_size=16).digest()
