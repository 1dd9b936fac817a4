"""What is not known of the tables that were written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from binx.rows.columns.schema import Provenance
from binx.source.wording import listed

if TYPE_CHECKING:
    from binx.rows.batches import TableChanges
    from binx.rows.decoder import ChangeDecoder


_TABLES_NAMED = 10
"""Tables that a sentence names, at most: a server may have thousands."""


def decoder_warnings(decoders: Iterable[ChangeDecoder]) -> list[str]:
    """What decoders do not know of names and types, in sentences."""
    unnamed = {
        f"{table.db}.{table.name}": None
        for decoder in decoders
        for table in decoder.tables
        if has_unnamed_columns(table)
    }
    sentences = [warning for decoder in decoders for warning in decoder.report.warnings]
    if unnamed:
        sentences.append(unnamed_columns(unnamed))
    return list(dict.fromkeys(sentences))


def has_unnamed_columns(table: TableChanges) -> bool:
    """Whether nothing tells what a column is called; why a definition does not is a warning of its own."""
    resolved = table.resolved
    return resolved.unfit is None and any(
        column.provenance.name is Provenance.NONE for column in resolved.columns
    )


def unnamed_columns(tables: Collection[str]) -> str:
    """A sentence about tables with such columns."""
    return (
        f"the logs do not contain the column names of {listed(tables, _TABLES_NAMED)}; give them with"
        " --schema"
    )


__all__ = ["decoder_warnings", "has_unnamed_columns", "unnamed_columns"]
