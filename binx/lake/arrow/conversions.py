"""Convert rows of a state, or images, to the columns of a later epoch."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from binx.lake.arrow.rules import rule_of
from binx.lake.arrow.types import Misfit, Rule, UnknownError, arrow_type, constant, unknown
from binx.lake.dataset.files import Value
from binx.lake.tables.lives import Change, Column, Epoch

_EPOCH = datetime(1970, 1, 1)


def converted(rows: pa.Table, before: Epoch, after: Epoch) -> tuple[pa.Table, set[str]]:
    """Return rows in the columns of the epoch ``after``, and the columns in which values became unknown."""
    changes = {change.id: change for change in after.changes}
    ids = {column.id for column in before.columns}
    heads = [name for name in rows.column_names if not name[1:].isdigit()]
    columns: dict[str, Any] = {name: rows.column(name) for name in heads}
    lost = set()
    for column in after.columns:
        change = changes.get(column.id)
        if change is None and column.id not in ids:
            change = Change(column.id, None)
        values = _kept(rows, column) if change is None else _changed(rows, column, change, after)
        columns |= values
        known = values.get(f"p{column.id}")
        if len(rows) and known is not None and change is not None and _lost(rows, column, known):
            lost.add(column.name)
    return pa.table(columns), lost


def _lost(rows: pa.Table, column: Column, known: Any) -> bool:
    before = f"p{column.id}"
    was = rows.column(before) if before in rows.column_names else None
    now = sum(known.to_pylist())
    return bool(now < (len(rows) if was is None else sum(was.to_pylist())))


def _kept(rows: pa.Table, column: Column) -> dict[str, Any]:
    names = [f"{kind}{column.id}" for kind in "vmp"]
    return {name: rows.column(name) for name in names if name in rows.column_names}


def _changed(rows: pa.Table, column: Column, change: Change, epoch: Epoch) -> dict[str, Any]:
    count, kind = len(rows), arrow_type(column.arrow_type)
    name = f"v{column.id}"
    if change.former is None:
        value = None if change.value is None else constant(change.value.value, kind)
        misfit = None if change.value is None else change.value.misfit
        if not change.known or (value is None and misfit is None):
            return {name: pa.nulls(count, kind), f"p{column.id}": pa.repeat(pa.scalar(False), count)}
        constants = pa.nulls(count, kind) if value is None else pa.repeat(value, count)
        texts = {} if misfit is None else {f"m{column.id}": pa.repeat(pa.scalar(misfit), count)}
        return {name: constants, **texts}
    rule = rule_of(change.former, column, epoch)
    kept = _kept(rows, column)
    takes_null = column.nullable or not change.former.nullable
    if rule is None and kept[name].type == kind and change.value is None and takes_null:
        return kept
    known = kept.get(f"p{column.id}")
    present = [True] * count if known is None else known.to_pylist()
    texts_before = kept.get(f"m{column.id}")
    misfits = [None] * count if texts_before is None else texts_before.to_pylist()
    filled = change.value or Value(None)
    constants = None if filled.value is None else constant(filled.value, kind)
    of_null = (
        None if constants is None else constants.as_py(),
        filled.misfit,
        (takes_null or change.value is not None) and not change.numbers,
    )
    rule = rule or (lambda value: value)
    outcome = _Outcome(_numbering(rule, of_null[0]) if change.numbers else rule, kind, of_null)
    values = [
        outcome.of(value, misfit, is_known)
        for value, misfit, is_known in zip(_plain_values(kept[name]), misfits, present, strict=True)
    ]
    result: dict[str, Any] = {name: _array([value for value, _, _ in values], kind)}
    if any(misfit is not None for _, misfit, _ in values):
        result[f"m{column.id}"] = pa.array([misfit for _, misfit, _ in values], pa.string())
    if not all(is_known for _, _, is_known in values):
        result[f"p{column.id}"] = pa.array([is_known for _, _, is_known in values])
    return result


def _numbering(rule: Rule, number: Any) -> Rule:
    """Return a rule whose result is not known if it is this number."""

    def numbering(value: Any) -> Any:
        result = rule(value)
        return unknown(value) if result == number else result

    return numbering


def _plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Return values as Python objects; times as µs, without a zone."""
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
        return [None if value is None else _EPOCH + timedelta(microseconds=value) for value in micros]
    return list(column.to_pylist())


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.timestamp("us")).cast(kind)
    return pa.array(values, kind)


class _Outcome:
    """A rule's result for each distinct value, cached: value, misfit, whether it is known."""

    def __init__(self, rule: Rule, kind: pa.DataType, of_null: tuple[Any, str | None, bool]) -> None:
        self._rule = rule
        self._kind = kind
        self._of_null = of_null
        self._found: dict[Any, tuple[Any, str | None, bool]] = {}

    def of(self, value: Any, misfit: str | None, is_known: bool) -> tuple[Any, str | None, bool]:
        if not is_known:
            return None, None, False
        if value is None and misfit is None:
            return self._of_null
        if isinstance(value, (list, dict)):
            return self._made(value, misfit)
        case = (value, misfit)
        if case not in self._found:
            self._found[case] = self._made(value, misfit)
        return self._found[case]

    def _made(self, value: Any, misfit: str | None) -> tuple[Any, str | None, bool]:
        try:
            result = self._rule(Misfit(misfit) if value is None and misfit is not None else value)
            if isinstance(result, Misfit):
                return None, str(result), True
            _array([result], self._kind)
        except (UnknownError, ValueError, ArithmeticError, pa.ArrowException, TypeError, AttributeError):
            return None, None, False
        return result, None, True
