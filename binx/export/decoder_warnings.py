"""What is not known of the tables that were written."""

from __future__ import annotations

from collections.abc import Iterable

from binx.rows.decoder import ChangeDecoder
from binx.rows.schema import Provenance


def decoder_warnings(decoders: Iterable[ChangeDecoder]) -> list[str]:
    """What decoders do not know of names and types, in sentences."""
    unnamed = {
        f"{table.db}.{table.name}": None
        for decoder in decoders
        for table in decoder.tables
        if any(column.provenance.name is Provenance.NONE for column in table.resolved.columns)
    }
    sentences = [warning for decoder in decoders for warning in decoder.report.warnings]
    if unnamed:
        sentences.append(
            f"the logs do not tell the names of the columns of {', '.join(unnamed)}; --schema can"
        )
    return list(dict.fromkeys(sentences))


__all__ = ["decoder_warnings"]
