"""The Python API: binary logs opened for querying.

>>> import binx
>>> log = binx.open("testdata/mysql-9.7/shop/mysql-bin.000001")
>>> log.index().num_rows
374
>>> sorted({f"{db}.{table}" for db, table in log.tables()})[:2]
['shop.audit_log', 'shop.customers']
>>> log.select(table="shop.customers", limit=20).changes("shop.customers").read_all().num_rows > 0
True

Opening reads only the ends of the files. Each query reads them again, in bounded
memory.
"""

from binx.api.figures import Figures
from binx.api.logs import Binlogs, SelectedTransactions, Transactions
from binx.api.open_logs import diff, open, read_state  # noqa: A004 - it is called as binx.open
from binx.api.transaction_records import TableChange, TransactionRecord

__all__ = [
    "Binlogs",
    "Figures",
    "SelectedTransactions",
    "TableChange",
    "TransactionRecord",
    "Transactions",
    "diff",
    "open",
    "read_state",
]
