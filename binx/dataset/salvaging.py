"""What of a damaged log is left out of a data set, where it is salvaged, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from binx.errors import BinxError
from binx.kernels.transactions.table import TransactionTable
from binx.log.scan import Scan
from binx.rows.marks import LOST
from binx.rows.undecodable import DecodingCheck
from binx.source.wording import counted


class Salvaging:
    """Sorts out transactions that cannot be decoded.

    Args:
        scan: the walk over the log, which passes over what is no whole transaction.
        check: decodes transactions to see whether they can be; None where damage is not salvaged, and then
            nothing is left out.
        forget: called where statements that define tables may have been lost, as no table's definition is
            known any more behind.
    """

    def __init__(self, scan: Scan, check: DecodingCheck | None, forget: Callable[[], None]) -> None:
        self._scan = scan
        self._check = check
        self._forget = forget
        self._damages = 0
        self._damage: list[dict[str, Any]] = []

    def undecodable(self, table: TransactionTable, marks: bytearray) -> dict[int, BinxError]:
        """The marked transactions that cannot be decoded, by their index."""
        if self._check is None:
            return {}
        self.forget_behind_damage()
        errors = self._check.undecodable(table, marks)
        if any(table.value("statements", index) for index in errors):
            self._forget_tables()
        return errors

    def unmark_lost(self, table: TransactionTable, mask: bytearray) -> dict[int, int]:
        """Take out of a selection what cannot be decoded: by index, what it is to be counted as."""
        if self._check is None:
            return {}
        marks = bytearray(mask)
        table.mark_work(marks)
        lost = {}
        for index, error in self.undecodable(table, marks).items():
            lost[index] = LOST if mask[index] else 0
            mask[index] = 0
            if lost[index]:
                self._damage.append(
                    {
                        "start": table.value("start", index),
                        "end": table.value("end", index),
                        "offset": error.offset,
                        "cause": "undecodable",
                        "gtid": table.gtid(index),
                        "transactions": 1,
                        "message": error.message,
                    }
                )
        return lost

    def forget_behind_damage(self) -> None:
        """Forget tables where the scan has passed over damage since the last call."""
        if len(self._scan.damage) > self._damages:
            self._forget_tables()

    def damage(self) -> list[dict[str, Any]]:
        """All that was passed over and left out, in the log's order, for the manifest."""
        scanned = [
            {
                "start": one.start,
                "end": one.end,
                "offset": one.offset,
                "cause": one.cause.value,
                "gtid": str(one.lost) if one.lost else one.gtid,
                "transactions": one.transactions,
                "message": one.message,
            }
            for one in self._scan.damage
        ]
        return sorted(self._damage + scanned, key=lambda one: one["start"])

    def _forget_tables(self) -> None:
        self._damages = len(self._scan.damage)
        if self._check is not None:
            self._check.forget_tables()
        self._forget()


def damage_sentences(damage: Sequence[dict[str, Any]]) -> list[str]:
    """What the manifest says of damage among the losses."""
    told = []
    for one in damage:
        gtid = "" if one["gtid"] is None else f" (transaction {one['gtid']})"
        told.append(
            f"bytes {one['start']:,} to {one['end']:,}{gtid} could not be read and are left out, at"
            f" least {counted(one['transactions'], 'transaction')}: {one['message']}"
        )
    return told
