"""Read transactions, row changes and statistics from MySQL and MariaDB binary log files, offline.

>>> import binx
>>> with binx.open("testdata/mysql-9.7/shop/mysql-bin.000001") as log:
...     changes = log.changes("shop.orders").read_all()
>>> changes.num_rows > 0
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from binx.version import __version__

if TYPE_CHECKING:
    from binx.api import (
        Binlogs,
        Figures,
        SelectedTransactions,
        TransactionRecord,
        Transactions,
        diff,
        open,  # noqa: A004
        read_state,
    )
    from binx.api.query import Database, query
    from binx.compare.differences import LogDiff
    from binx.dataset.predecessors import SourceReport
    from binx.errors import BinxError, BinxWarning
    from binx.inspect.row_history import RowChange
    from binx.lake.table_changes import read_changes
    from binx.slices.extraction import ExtractReport
    from binx.verify import VerifyReport

__all__ = [
    "Binlogs",
    "BinxError",
    "BinxWarning",
    "Database",
    "ExtractReport",
    "Figures",
    "LogDiff",
    "RowChange",
    "SelectedTransactions",
    "SourceReport",
    "TransactionRecord",
    "Transactions",
    "VerifyReport",
    "__version__",
    "diff",
    "open",
    "query",
    "read_changes",
    "read_state",
]

_HOMES = {
    "Binlogs": "binx.api",
    "BinxError": "binx.errors",
    "BinxWarning": "binx.errors",
    "SelectedTransactions": "binx.api",
    "TransactionRecord": "binx.api",
    "Transactions": "binx.api",
    "Figures": "binx.api",
    "Database": "binx.api.query",
    "ExtractReport": "binx.slices.extraction",
    "LogDiff": "binx.compare.differences",
    "RowChange": "binx.inspect.row_history",
    "SourceReport": "binx.dataset.predecessors",
    "VerifyReport": "binx.verify",
    "diff": "binx.api",
    "open": "binx.api",
    "query": "binx.api.query",
    "read_state": "binx.api",
    "read_changes": "binx.lake.table_changes",
}


def __getattr__(name: str) -> Any:
    """Import names on first use, to keep startup fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'binx' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List what the package offers, which is imported on first use."""
    return sorted(__all__)
