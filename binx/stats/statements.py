"""What the figures say of statements: DDL, foreign keys that cascade, tables that are made of rows."""

from __future__ import annotations

import re

from binx.event.query import Query
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.events import transaction_events
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_id
from binx.rows.ddl.parse import is_schema_statement
from binx.stats.records import DdlStatement

DDL_LISTED = 200
"""Statements of DDL that are kept, at most."""

DDL_LOOKED_AT = 10_000
"""Statements of DDL that are looked at for foreign keys, at most."""

MIXTURES_LOOKED_AT = 200
"""Transactions of both statements and rows that are looked at, at most; later ones count as statements."""

_LARGEST = 2**63 - 1
_CHARACTERS = 2_000
_CASCADE = re.compile(r"\bON\s+(?:DELETE|UPDATE)\s+(?:CASCADE|SET\s+NULL|SET\s+DEFAULT)\b", re.IGNORECASE)


class StatementReader:
    """Reads the statements of transactions page by page.

    Attributes:
        ddl: the first statements that are transactions of their own.
        cascades: how many of those that were looked at define foreign keys that change rows by themselves.
        only_tables_made: transactions whose only statements make the tables of their rows
            (CREATE TABLE … SELECT).
    """

    def __init__(self) -> None:
        self.ddl: list[DdlStatement] = []
        self.cascades = 0
        self.only_tables_made = 0
        self._ddl_looked_at = 0
        self._mixtures_looked_at = 0

    def take(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        """Look at the marked transactions.

        Raises:
            DamagedError, UnsupportedError: a statement cannot be read.
        """
        self._take_ddl(file, table, bytearray(mask))
        self._take_mixtures(file, table, bytearray(mask))

    def _take_ddl(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        if self._ddl_looked_at >= DDL_LOOKED_AT:
            return
        table.keep_values(mask, "kind", [Kind.KIND_DDL])
        for index in table.marked(mask)[: DDL_LOOKED_AT - self._ddl_looked_at]:
            self._ddl_looked_at += 1
            start, end = table.value("start", index), table.value("end", index)
            events = transaction_events(file, start, end, table.format)
            query = next((event for _, event in events if isinstance(event, Query)), None)
            if query is None:
                continue
            self.cascades += _CASCADE.search(query.text) is not None
            if len(self.ddl) < DDL_LISTED:
                self.ddl.append(
                    DdlStatement(
                        transaction=transaction_id(file, table, index),
                        commit_timestamp=table.value("commit_timestamp", index),
                        file=file.name,
                        start=start,
                        db=query.database,
                        sql=query.text[:_CHARACTERS],
                    )
                )

    def _take_mixtures(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        table.keep_range(mask, "statements", 1, _LARGEST)
        table.keep_range(mask, "rows", 1, _LARGEST)
        if self._mixtures_looked_at >= MIXTURES_LOOKED_AT or not any(mask):
            return
        for index in table.marked(mask)[: MIXTURES_LOOKED_AT - self._mixtures_looked_at]:
            self._mixtures_looked_at += 1
            start, end = table.value("start", index), table.value("end", index)
            texts = [
                event.text
                for _, event in transaction_events(file, start, end, table.format)
                if isinstance(event, Query)
            ]
            made = sum(map(is_schema_statement, texts))
            self.only_tables_made += made == table.value("statements", index)
