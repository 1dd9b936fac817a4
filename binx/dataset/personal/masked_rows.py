"""Mask rows of tables with rules: dropped columns are removed, hashed columns become text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.dataset.personal.documents import NOT_APPLICABLE, Documents, parsed, printed
from binx.dataset.personal.rules import Masking, PersonalData, Rule, TableRules
from binx.errors import RefusedError
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.columns.arrow_schema import MISFITS
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import Provenance, TableDefinition, folded_name
from binx.rows.columns.schema_records import ColumnRecords
from binx.rows.columns.types import Kind, LogicalType
from binx.source.wording import counted, did_you_mean, nearest

_HASH = LogicalType(Kind.TEXT, "char", length=64, charset="ascii", characters=64)
_TEXTS = (Kind.JSON, Kind.TEXT)


def hashed_type(mysql_type: str) -> str:
    """Return the type name of a hashed column; members of ENUM and SET are omitted."""
    base = mysql_type.partition("(")[0].strip().lower()
    return f"hash({base if base in ('enum', 'set') else mysql_type})"


class MaskedTable(TableChanges):
    """A table with its columns masked, as in the data set.

    Raises:
        RefusedError: the rules cannot be applied.
    """

    def __init__(self, table: TableChanges, rules: TableRules) -> None:
        self._table = table
        self.shared, self.valid_from = table.shared, table.valid_from
        self.maskings = [rules.masking(column.source_name) for column in table.resolved.columns]
        self._check(rules)
        columns = tuple(
            _masked_column(column, masking)
            for column, masking in zip(table.resolved.columns, self.maskings, strict=True)
            if masking is None or not masking.drops
        )
        self.resolved = table.resolved._replace(columns=columns, definition=None)
        self.records = ColumnRecords(columns, table.shared.options)

    def _check(self, rules: TableRules) -> None:
        name = f"{self._table.db}.{self._table.name}"
        columns = self._table.resolved.columns
        for copy, origin, copied in _copies(self._table, rules):
            if not copied.paths:
                raise RefusedError(
                    f"{name}.{copy} is generated from {origin}, which has a rule about personal data: give it"
                    " a rule too"
                )
        if any(column.provenance.name is Provenance.NONE for column in columns):
            raise RefusedError(
                f"{name} has personal data, and the names of its columns are not known:"
                f" {self._table.resolved.why_unknown}"
            )
        for column, masking in zip(columns, self.maskings, strict=True):
            if masking is not None and masking.drops and column.primary_key_position is not None:
                raise RefusedError(
                    f"{name}.{column.source_name} is part of the key and cannot be dropped, as rows could not"
                    " be told apart: hash it with --hash-columns"
                )
            if masking is not None and masking.paths and column.type.kind not in _TEXTS:
                raise RefusedError(
                    f"{name}.{column.source_name} is {column.mysql_type}, which has no documents"
                )

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        fields = list(self._table.schema)
        leading = len(fields) - len(self.maskings)
        kept = fields[:leading]
        for field, masking in zip(fields[leading:], self.maskings, strict=True):
            if masking is None or masking.paths:
                kept.append(field)
            elif masking.hashes:
                kept.append(pa.field(field.name, pa.string()))
        return pa.schema(kept, {b"binx.schema_version": self.version.encode()})

    @property
    def batch_schema(self) -> pa.Schema:
        """The schema of batches."""
        return self.schema


def _copies(table: TableChanges, rules: TableRules) -> Iterator[tuple[str, str, Masking]]:
    """Yield generated columns without a rule, the masked columns that they are made of, and their masking."""
    definition = table.resolved.definition
    for column in () if definition is None else definition.columns:
        for origin in definition.columns if definition and rules.masking(column.name) is None else ():
            masking = rules.masking(origin.name)
            if masking is not None and folded_name(origin.name) in column.expression[1:]:
                yield column.name, origin.name, masking


def _masked_column(column: ResolvedColumn, masking: Masking | None) -> ResolvedColumn:
    """Return the column for the schema record, without members and without defaults other than NULL."""
    if masking is None:
        return column
    absent = column.absent if column.absent is not None and column.absent.value is None else None
    added = column.added if column.added is not None and column.added.value is None else None
    column = column._replace(default=None, absent=absent, added=added)
    if masking.paths:
        return column
    return column._replace(type=_HASH, mysql_type=hashed_type(column.mysql_type))


class Masks:
    """Masks the rows of one log.

    Args:
        rules: all rules, or None.

    Attributes:
        warnings: sentences about rules that match no column of their table, and about columns that may be
            copies of masked documents; each once.
    """

    def __init__(self, rules: PersonalData | None) -> None:
        self._rules = rules
        self._tables: dict[TableChanges, TableChanges] = {}
        self._left_out: Counter[str] = Counter()
        self.warnings: dict[str, None] = {}
        self._matched: set[str] = set()
        self._without_column: dict[str, str | None] = {}
        self._without_part: set[str] = set()

    def take_definitions(self, tables: Iterable[TableDefinition]) -> None:
        """Note which rules match columns of tables that may have no rows in the log."""
        for table in tables:
            rules = None if self._rules is None else self._rules.of_table(table.db, table.name)
            if rules is not None:
                for column in table.columns:
                    self._matched |= {rule.names for rule, _ in rules.of_column(column.name)}

    def facts(self) -> dict[str, Any]:
        """Return, for the manifest, the rules without wildcards that matched, and those that did not.

        The latter are those whose table came without the column, with the one that each may mean, and those
        of whose part of documents no document had any.
        """
        if self._rules is None:
            return {}
        exact, parts = self._rules.exact_names(), self._rules.exact_parts()
        unmatched = sorted((self._without_column.keys() & exact) - self._matched)
        return {
            "rules_matched": sorted(self._matched & (exact | parts)),
            "rules_without_column": unmatched,
            "rules_without_part": sorted((self._without_part & parts) - self._matched),
            "rules_meant": {
                rule: f"{rule.rpartition('.')[0]}.{near}"
                for rule in unmatched
                if (near := self._without_column[rule])
            },
        }

    def table(self, table: TableChanges) -> TableChanges:
        """Return the masked table."""
        if self._rules is None:
            return table
        if table not in self._tables:
            rules = self._rules.of_table(table.db, table.name)
            self._tables[table] = table if rules is None else self._masked(table, rules)
        return self._tables[table]

    def _masked(self, table: TableChanges, rules: TableRules) -> TableChanges:
        names = [column.source_name for column in table.resolved.columns]
        matched = {rule for name in names for rule, _ in rules.of_column(name)}
        self._matched |= {rule.names for rule in matched}
        for rule, _ in rules.rules:
            if rule not in matched:
                self._without_column[rule.names] = nearest(rule.column, (name.lower() for name in names))
                self.warnings[
                    f"{table.db}.{table.name} has no column for the rule {rule.text}"
                    f"{did_you_mean(rule.column, names)}"
                ] = None
        for column, origin, masking in _copies(table, rules):
            if masking.paths:
                self.warnings[
                    f"{table.db}.{table.name}.{column} is generated from {origin}, and has no rule: it may"
                    " show parts of documents that have one"
                ] = None
        return MaskedTable(table, rules)

    def batch(self, batch: ChangeBatch) -> ChangeBatch:
        """Return the masked rows."""
        table = self.table(batch.table)
        if not isinstance(table, MaskedTable) or self._rules is None:
            return batch
        columns = {name: batch.batch.column(name) for name in batch.batch.schema.names}
        maskings = [
            (column.name, masking)
            for column, masking in zip(batch.table.resolved.columns, table.maskings, strict=True)
        ]
        if any(masking is not None and masking.drops for _, masking in maskings):
            columns["_present"] = _without_bits(columns["_present"], maskings)
        masked = {name: masking for name, masking in maskings if masking is not None}
        misfits = columns.get("_misfits")
        misfit_pairs = (
            misfits.to_pylist() if misfits is not None and misfits.null_count < batch.rows else None
        )
        for name, masking in masked.items():
            if masking.hashes:
                columns[name] = _hashed(
                    columns[name], [dict(pairs or ()).get(name) for pairs in misfit_pairs or ()], self._rules
                )
            elif masking.paths:
                documents = Documents(masking.paths, self._rules.hash)
                columns[name] = self._documents(columns[name], documents, f"{table.db}.{table.name}.{name}")
                self._note_parts(masking.rules, documents)
        if misfit_pairs is not None:
            hidden = {name for name, masking in masked.items() if not masking.paths}
            kept_pairs = [
                None if pairs is None else [pair for pair in pairs if pair[0] not in hidden]
                for pairs in misfit_pairs
            ]
            columns["_misfits"] = pa.array([pairs or None for pairs in kept_pairs], MISFITS)
        if "_json_diff" in columns:
            columns["_json_diff"] = _distinct(
                columns["_json_diff"], lambda text: self._differences(text, masked)
            )
        arrays = [columns[name] for name in table.schema.names]
        return ChangeBatch(table, batch.rows, arrays, batch.rows_flags, batch.typed_documents)

    def _note_parts(self, rules: Iterable[Rule], documents: Documents) -> None:
        """Note of which rules documents had the parts."""
        for rule in rules if documents.are_any else ():
            (self._matched if rule.path in documents.found else self._without_part).add(rule.part)

    def _documents(self, column: pa.Array, documents: Documents, name: str) -> pa.Array:
        def masked(text: str) -> str | None:
            try:
                return documents.masked(text)
            except (ValueError, RecursionError):
                self._left_out[name] += 1
                return None

        kind = column.type
        storage = column.storage if isinstance(kind, pa.BaseExtensionType) else column
        texts = _distinct(storage, masked)
        return kind.wrap_array(texts) if isinstance(kind, pa.BaseExtensionType) else texts

    def _differences(self, text: str, masked: dict[str, Masking]) -> str | None:
        assert self._rules is not None
        by_column = parsed(text)
        for name, listed in list(by_column.items()):
            masking = masked.get(name)
            if masking is not None and masking.drops:
                del by_column[name]
            elif masking is not None and masking.hashes:
                by_column[name] = [NOT_APPLICABLE]
            elif masking is not None:
                by_column[name] = Documents(masking.paths, self._rules.hash).differences(listed)
        return printed(by_column) if by_column else None

    def losses(self) -> list[str]:
        """Return sentences about what is lost."""
        return [
            f"{name}: {counted(count, 'value')} that are no JSON documents left out, as a rule about personal"
            " data speaks of a part of them"
            for name, count in self._left_out.items()
        ]


def _distinct(column: pa.Array, change: Callable[[str], str | None]) -> pa.Array:
    """Apply a change to every text, once per distinct text."""
    encoded = column.dictionary_encode()
    changed = pa.array(
        [None if text is None else change(text) for text in encoded.dictionary.to_pylist()], pa.string()
    )
    return changed.take(encoded.indices)


def _hashed(column: pa.Array, misfits: Sequence[str | None], rules: PersonalData) -> pa.Array:
    """Return the values' hashes; for values the type cannot hold, the hash of the server's text."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        texts = [None if item is None else rules.hash(_hashable(item)) for item in column.to_pylist()]
        return pa.array(texts, pa.string())
    words = column.dictionary_encode()
    texts = [None if item is None else rules.hash(_hashable(item)) for item in words.dictionary.to_pylist()]
    hashes = pa.array(texts, pa.string()).take(words.indices)
    if any(text is not None for text in misfits):
        of_misfits = pa.array([None if text is None else rules.hash(text) for text in misfits], pa.string())
        hashes = pc.coalesce(of_misfits, hashes)
    return hashes


def _hashable(value: Any) -> bytes | str:
    """Return what is hashed of a value: its text or bytes; for a geometry, its WKB."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return bytes(value["wkb"])
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, timedelta):
        return str(value // timedelta(microseconds=1))
    return json.dumps(value) if isinstance(value, list) else str(value)


def _without_bits(present: pa.Array, maskings: Sequence[tuple[str, Masking | None]]) -> pa.Array:
    """Return the presence bits without the dropped columns; NULL if all other columns are present."""
    kept = [index for index, (_, masking) in enumerate(maskings) if masking is None or not masking.drops]
    cache: dict[bytes, bytes | None] = {}

    def compacted(bits: bytes) -> bytes | None:
        if bits not in cache:
            flags = [bits[index // 8] >> index % 8 & 1 for index in kept]
            number = sum(flag << index for index, flag in enumerate(flags))
            cache[bits] = None if all(flags) else number.to_bytes((len(kept) + 7) // 8, "little")
        return cache[bits]

    return pa.array([None if bits is None else compacted(bits) for bits in present.to_pylist()], pa.binary())
