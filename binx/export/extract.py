"""``extract``: from files and a selection to one output.

The files are walked only as far as the search needs: it ends when all that is wanted is found, and a file is
passed over where the GTIDs before it and before the next one say that it holds nothing wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from binx.event.gtid_set import GtidSet
from binx.export.output import open_output
from binx.export.slice_plan import Run
from binx.log.chain import FileEnds, ends_problems
from binx.log.selection import Selection, Selector, required_level


class SliceFormat(Enum):
    """What is written of the transactions."""

    BINLOG = "binlog"
    """A binary log."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """How a slice is written.

    Attributes:
        format: see SliceFormat.
        verbatim: a binary log's bytes are copied as they are.
        verify: checksums are compared.
    """

    format: SliceFormat = SliceFormat.BINLOG
    verbatim: bool = False
    verify: bool = True


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """What became of a request.

    Attributes:
        transactions: how many were written.
        bytes: size of the output.
        missing: GTIDs asked for that are in none of the files.
        renumbered: transactions whose logical clock was made serial.
        notes: what a user should know of how the selection was understood.
    """

    transactions: int
    bytes: int
    missing: GtidSet
    renumbered: int
    notes: tuple[str, ...]


def extract(
    chain: Sequence[FileEnds],
    selection: Selection,
    output: str,
    options: ExtractOptions | None = None,
) -> ExtractReport:
    """Write the selected transactions.

    What was found is written even where some of the GTIDs asked for are missing; the report names them.

    Args:
        chain: the files in their order, with their ends read; see :func:`binx.log.inputs.open_chain`.
        selection: which transactions.
        output: a path, or ``-`` for standard output.
        options: how.

    Raises:
        AbsentError: no transaction passes; nothing was written.
        RefusedError: what was asked for cannot be written correctly; nothing was written.
        DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        OutputError: the output cannot be written.
    """
    chosen = options or ExtractOptions()
    search = Search(chain, selection, verify=chosen.verify)
    with open_output(output) as stream:
        from binx.export.binlog import write_binlog

        written = write_binlog(search.runs(), stream, verbatim=chosen.verbatim, verify=chosen.verify)
    return ExtractReport(
        transactions=written.transactions,
        bytes=written.bytes,
        missing=search.selector.missing(),
        renumbered=written.renumbered,
        notes=tuple(search.selector.notes),
    )


class Search:
    """A search for a selection's transactions through a chain of files.

    Args:
        chain: the files in their order, with their ends read.
        selection: what is wanted.
        verify: whether checksums of the events that are walked are compared.

    Attributes:
        selector: knows what is missing yet.

    Raises:
        UsageError, AbsentError: as :class:`~binx.log.selection.Selector`.
    """

    def __init__(self, chain: Sequence[FileEnds], selection: Selection, *, verify: bool = True) -> None:
        self.selector = Selector(selection, [ends.file.name for ends in chain])
        self._chain = chain
        self._level = required_level(selection)
        self._verify = verify

    def runs(self) -> Iterator[Run]:
        """Yield the transactions that pass, in the order of the chain.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        selector = self.selector
        for place, ends in enumerate(self._chain):
            if selector.complete:
                return
            if selector.rules_out(ends.file, ends.previous_gtids) or self._is_before_all(place):
                continue
            scan = ends.file.scan(self._level, verify=self._verify)
            for table in scan:
                mask = selector.mask(ends.file, scan, table)
                if any(mask):
                    yield Run(ends.file, table, mask)
                if selector.complete:
                    return

    def _is_before_all(self, place: int) -> bool:
        """Whether the next file, which follows without a gap, says that no missing GTID came before it."""
        if self.selector.selection.gtids is None or place + 1 == len(self._chain):
            return False
        ends, following = self._chain[place], self._chain[place + 1]
        known = following.previous_gtids
        if known is None or ends.server != following.server or ends_problems([ends, following]):
            return False
        return self.selector.missing().isdisjoint(known)


__all__ = ["ExtractOptions", "ExtractReport", "Search", "SliceFormat", "extract"]
