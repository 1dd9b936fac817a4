"""Tell which generated columns an update may change although its images lack them.

MySQL logs a generated column with every image that holds what it is computed from. MariaDB leaves virtual
columns out of partial images, and newer servers leave all generated columns out of the images of UPDATE and
DELETE, whatever binlog_row_image says (MariaDB 11.8.9 does, 10.11.19 does not).
"""

from __future__ import annotations

from collections.abc import Sequence

from binx.rows.columns.schema import ColumnDefinition, folded_name

COMPUTED = ("virtual", "stored")
"""The kinds of columns that servers compute from others."""

# Which release was the first is not documented; before 11.0, an absent stored column is an unchanged one.
_STORED_LEFT_OUT_SINCE = (11, 0, 0)


def unlogged_changes(
    definitions: Sequence[ColumnDefinition | None], version: tuple[int, int, int]
) -> list[tuple[str, ...] | None]:
    """Return, for each column of a MariaDB table, the columns that it is computed from.

    Args:
        definitions: the table's columns; None for those without a definition.
        version: the version of the server that logged the rows.

    Returns:
        None for a column that is in every image that changes it. An empty tuple if its expression is not
        known: any update may change it.
    """
    kinds = COMPUTED if version >= _STORED_LEFT_OUT_SINCE else ("virtual",)
    names = {folded_name(known.name): known.name for known in definitions if known is not None}
    computed = {
        folded_name(known.name): known for known in definitions if known is not None and known.generated
    }
    return [
        None if known is None or known.generated not in kinds else tuple(_read_by(known, names, computed))
        for known in definitions
    ]


def _read_by(
    column: ColumnDefinition, names: dict[str, str], computed: dict[str, ColumnDefinition]
) -> list[str]:
    """Return the columns of an expression, and those of the generated columns in it."""
    words = list(column.expression[1:])
    # Grows while it is read, as a generated column may read further ones.
    for word in words:
        if word in computed:
            words += [other for other in computed[word].expression[1:] if other not in words]
    return [names[word] for word in dict.fromkeys(words) if word in names and word not in computed]
