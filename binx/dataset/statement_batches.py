"""Statements as Arrow record batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from binx.dataset.options import StatementTexts
from binx.dataset.personal.rules import PersonalData
from binx.event.statement_digest import digest_of, digest_text
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, ArrowOptions
from binx.rows.ddl.effects import ColumnEffect, Effect, statement_effects
from binx.rows.logged_statements import ROWS, Statement

STATEMENTS_BATCH = 10_000
"""Number of statements buffered before they are written."""


@cache
def statements_schema() -> pa.Schema:
    """Return the schema of the data set's ``statements``."""
    texts = pa.map_(pa.string(), pa.string())
    return pa.schema(
        [
            pa.field("commit_version", pa.int64(), nullable=False),
            pa.field("commit_timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
            pa.field("transaction", pa.string(), nullable=False),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("position", pa.int64(), nullable=False),
            pa.field("event_timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("db", pa.string(), nullable=False),
            pa.field("sql", pa.string(), nullable=False),
            pa.field("sql_is_text", pa.bool_(), nullable=False),
            pa.field("options", texts),
            # Values reach 2^64 - 1, which Spark's signed integers cannot hold.
            pa.field("insert_id", pa.decimal128(20, 0)),
            pa.field("last_insert_id", pa.decimal128(20, 0)),
            pa.field("rand_seeds", pa.list_(pa.int64())),
            pa.field("user_vars", texts),
            pa.field("thread_id", pa.int64()),
            pa.field("exec_time", pa.int64()),
            pa.field("error_code", pa.int32(), nullable=False),
            pa.field("effects", pa.list_(_effect_type()), nullable=False),
            pa.field("digest", pa.string()),
            pa.field("digest_text", pa.string()),
        ]
    )


def _effect_type() -> pa.DataType:
    """The Arrow type of an :class:`~binx.rows.ddl.effects.Effect`: what a statement did to one table."""
    text, flag = pa.string(), pa.bool_()
    column = pa.struct(
        [
            ("action", text), ("name", text), ("former", text), ("mysql_type", text), ("arrow_type", text),
            ("charset", text), ("nullable", flag), ("known", flag), ("value", text), ("misfit", text),
        ]
    )  # fmt: skip
    parent = pa.struct([("db", text), ("table", text), ("deletes", flag), ("columns", pa.list_(text))])
    return pa.struct(
        [
            ("action", text), ("db", text), ("table", text), ("new_db", text), ("new_table", text),
            ("if_not_exists", flag), ("from_query", flag), ("columns", pa.list_(column)),
            ("key", pa.list_(text)), ("changes", pa.list_(column)),
            ("parents", pa.list_(parent)),
            ("xid", text), ("reason", text),
        ]
    )  # fmt: skip


def statements_batch(
    statements: Sequence[Statement],
    options: ArrowOptions = DEFAULT_ARROW_OPTIONS,
    personal: PersonalData | None = None,
    texts: StatementTexts = StatementTexts.NONE,
) -> pa.RecordBatch:
    """Return the statements as a batch, one row each, without personal data.

    Statements that change rows have a digest (see :mod:`binx.event.statement_digest`), unless their text is
    left out because of personal data.
    """
    with_effects = [(statement, _effects(statement, options)) for statement in statements]
    if personal is not None:
        from binx.dataset.personal.masked_statements import masked_statement

        with_effects = [masked_statement(statement, effects, personal) for statement, effects in with_effects]
    statements = [statement for statement, _ in with_effects]
    digests = [_digest(statement) for statement in statements]
    if texts is not StatementTexts.TEXT:
        statements = [item._replace(sql="") if item.kind == ROWS else item for item in statements]
    columns: dict[str, list[Any]] = {
        "event_timestamp": [statement.timestamp * 1_000_000 for statement in statements],
        "rand_seeds": [_wrapped(statement.rand_seeds) for statement in statements],
        "user_vars": [list(statement.user_vars.items()) for statement in statements],
        "effects": [list(map(_effect, effects)) for _, effects in with_effects],
        "digest": [digest for digest, _ in digests],
        "digest_text": [text for _, text in digests],
    }
    schema = statements_schema()
    arrays = []
    for name, data_type in zip(schema.names, schema.types, strict=True):
        if name == "options":
            arrays.append(_options([statement.options for statement in statements], data_type))
            continue
        values = columns.get(name) or [getattr(statement, name) for statement in statements]
        arrays.append(pa.array(values, data_type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _options(options: Sequence[Mapping[str, str]], data_type: pa.DataType) -> pa.Array:
    """Return the options as maps; each session's, which its statements share, are made once."""
    distinct = {id(values): list(values.items()) for values in options}
    numbers = {identity: number for number, identity in enumerate(distinct)}
    indexes = pa.array([numbers[id(values)] for values in options], pa.int32())
    return pa.array(list(distinct.values()), data_type).take(indexes)


def _effects(statement: Statement, options: ArrowOptions) -> list[Effect]:
    context = statement.context
    if context is None:
        return statement_effects(None, statement.sql, statement.db)
    return statement_effects(statement.followed, statement.sql, statement.db, context, options)


def _effect(effect: Effect) -> dict[str, Any]:
    def listed(columns: Sequence[ColumnEffect]) -> list[dict[str, Any]]:
        return [column._asdict() for column in columns]

    return {
        **effect._asdict(),
        "columns": None if effect.columns is None else listed(effect.columns),
        "changes": listed(effect.changes),
        "key": None if effect.key is None else list(effect.key),
        "parents": [{**parent._asdict(), "columns": list(parent.columns)} for parent in effect.parents],
    }


def _wrapped(seeds: tuple[int, int] | None) -> list[int] | None:
    """Return seeds masked to 63 bits. The log has 64 unsigned bits; real seeds are below 2^30."""
    return None if seeds is None else [seed & 0x7FFFFFFFFFFFFFFF for seed in seeds]


def _digest(statement: Statement) -> tuple[str | None, str | None]:
    """Return digest and normalized text of a statement that changes rows; None if its text is missing."""
    if statement.kind not in ("dml", ROWS) or not statement.sql:
        return None, None
    text = digest_text(statement.sql)
    return digest_of(text), text
