"""The search for a selection's transactions through a chain of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, UndecodableError
from binx.event.format import Flavour
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ends_problems, epochs
from binx.log.chain.ends import FileEnds
from binx.log.file import BinlogFile, tell
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector, required_level

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.kernels.transactions.table import TransactionTable
    from binx.log.scanning import TransactionScan
    from binx.rows.ddl.catalog import Catalog
    from binx.where.condition import Condition
    from binx.where.rows import RowFilter


_Marked = tuple["TransactionScan", "TransactionTable", bytearray]
"""A scan, some of its transactions, and a mark for each that passes."""


class Run(NamedTuple):
    """Some of the transactions that one pass over a file has found.

    Attributes:
        mask: a byte for each, 1 for those that are taken; None for all.
    """

    file: BinlogFile
    table: TransactionTable
    mask: Buffer | None = None


class Selected(NamedTuple):
    """Transactions of one file, as a scan at ``LEVEL_TABLES`` or more yields them.

    Attributes:
        scan: the scan; its file must stay open until the output is written.
        mask: a mark for each, as :meth:`~binx.rows.decoder.ChangeDecoder.decode` takes them.
        epoch: how many logs of the chain, up to this one, began with a server's start.
        first_seqno: the number in the chain of the first of them; it orders them in any case.
        is_numbered: whether nothing was passed over before, so that the number is that in the chain.
        behind_damage: statements that define tables may have been lost right before.
    """

    scan: TransactionScan
    table: TransactionTable
    mask: bytearray
    epoch: int = 0
    first_seqno: int = 0
    is_numbered: bool = True
    behind_damage: bool = False

    @property
    def file(self) -> BinlogFile:
        """The file that the transactions are in."""
        return self.scan.file


class Search:
    """A search for a selection's transactions through a chain of files.

    Args:
        on_damage: what is done where a file is damaged; salvage reads files whole, without their index.
        tells: whether to report what is done with each file; not so where another search does the same.

    Attributes:
        taken: how many transactions passed so far.
        passed_over: files that were ruled out so far, whose transactions nobody counted.

    Raises:
        UsageError, AbsentError: as :class:`~binx.log.selection.selection.Selector`.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        *,
        verify: bool = True,
        where: Condition | None = None,
        tables: Catalog | None = None,
        on_damage: OnDamage = OnDamage.STOP,
        tells: bool = True,
    ) -> None:
        # What the rows decide comes before the limit.
        unlimited = selection if where is None else selection._replace(limit=None)
        self.selector = Selector(unlimited, [ends.file.name for ends in chain])
        self._row_filter: RowFilter | None = None
        if where is not None:
            from binx.rows.ddl.catalog import Catalog
            from binx.where.rows import RowFilter

            known = Catalog() if tables is None else tables.copy()
            self._row_filter = RowFilter(where, known, self.selector.takes_table, selection.limit)
        self._check_tables: Catalog | None = None
        self.taken = 0
        self.passed_over = 0
        self._chain = chain
        self._verify = verify
        self._tells = tells
        self._on_damage = on_damage
        self._salvaged: list[Scan] = []
        self._undecodable: list[str] = []
        self._damages = 0
        self._lost: dict[int, BinxError] = {}
        self._behind_damage = False

    @property
    def damage(self) -> list[str]:
        """What was passed over so far as it could not be read, in sentences."""
        found = [f"{scan.file.path}: {one}" for scan in self._salvaged for one in scan.damage]
        return found + self._undecodable

    @property
    def of_mariadb(self) -> bool:
        """Whether a MariaDB server wrote any of the files."""
        return any(ends.file.format.flavour is Flavour.MARIADB for ends in self._chain)

    @property
    def warnings(self) -> list[str]:
        """Sentences about versions of tables to which the condition could not be applied so far."""
        return [] if self._row_filter is None else self._row_filter.warnings

    @property
    def complete(self) -> bool:
        """Whether no later transaction can pass."""
        return self.selector.complete or (self._row_filter is not None and self._row_filter.complete)

    def leave_out_undecodable(self, tables: Catalog, *, intact: bool = False) -> None:
        """Leave out transactions that cannot be decoded, where damage is salvaged, and list them.

        Args:
            tables: those known beforehand; left as they are.
            intact: leave those out whose rows are intact and nothing tells how to decode them, in any case.
        """
        if self._on_damage is OnDamage.SALVAGE or intact:
            self._check_tables = tables.copy()

    def check_columns(self) -> None:
        """Raise AbsentError where no table had the condition's columns, UsageError where none fits it."""
        if self._row_filter is not None:
            self._row_filter.check()

    def runs(self) -> Iterator[Run]:
        """Yield the places of the transactions that pass, in the order of the chain.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        level = Level.LEVEL_TABLES if self._row_filter else required_level(self.selector.selection)
        for scan, table, mask in self.walk(level, gtids=self.selector.sought):
            if mask.count(1):
                yield Run(scan.file, table, mask)

    def walk(self, level: Level, *, gtids: dict[bytes, bytes] | None = None) -> Iterator[_Marked]:
        """Yield the transactions of the files that are not ruled out, with marks of those that pass.

        Args:
            level: how much is read, at least :func:`~binx.log.selection.selection.required_level`.
            gtids: transactions that have none of these may be left out.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        selector = self.selector
        for place, ends in enumerate(self._chain):
            if self.complete:
                return
            if selector.rules_out(ends.file, ends.previous_gtids) or self._is_before_all(place):
                self.passed_over += 1
                ends.file.source.release(ends.file.size, ends.file.size)
                self._tell(ends.file, "not read: ruled out by GTIDs of neighbouring files, or by positions")
            else:
                yield from self._read(ends.file, level, gtids)

    def numbered(self, level: Level) -> Iterator[Selected]:
        """The same as :meth:`walk` at a level, with the transactions' places in the chain."""
        epoch_of = self._epochs()
        seqno = 1
        for scan, table, mask in self.walk(level):
            is_numbered = self.passed_over == 0
            yield Selected(scan, table, mask, epoch_of[scan.file], seqno, is_numbered, self._behind_damage)
            seqno += len(table)

    def selected(self, *, rolled_back: bool = True) -> Iterator[Selected]:
        """Yield the transactions that pass, with all that their rows need to be decoded.

        Transactions that do not pass are marked where their statements may define tables.

        Args:
            rolled_back: whether the rows of transactions that pass are wanted where these were rolled back.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        epoch_of = self._epochs()
        seqno = 1
        for ends in self._chain:
            if self.complete:
                return
            for scan, table, mask in self._read(ends.file, Level.LEVEL_TABLES):
                (table.mark_statements if rolled_back else table.mark_work)(mask)
                for index in self._lost:
                    mask[index] = 0
                epoch, behind = epoch_of[scan.file], self._behind_damage
                yield Selected(scan, table, mask, epoch, seqno, behind_damage=behind)
                seqno += len(table)
            ends.file.source.release(0, ends.file.size)

    def _epochs(self) -> dict[BinlogFile, int]:
        return dict(zip([ends.file for ends in self._chain], epochs(self._chain), strict=True))

    def _read(
        self, file: BinlogFile, level: Level, gtids: dict[bytes, bytes] | None = None
    ) -> Iterator[_Marked]:
        """The transactions of one file, with marks of those that pass."""
        seen, taken = 0, self.taken
        scan = self._transactions(file, level, gtids)
        for table in scan:
            mask = self._mask(file, scan, table)
            seen += len(table)
            yield scan, table, mask
            if self.complete:
                break
        else:
            if scan.unfinished:
                self.selector.notes.append(
                    f"{file.path}: its last {scan.unfinished:,} bytes are an incomplete transaction and are"
                    " not read: the server is writing it, or was when it crashed"
                )
        text = f"{seen:,} transactions read, {self.taken - taken:,} selected"
        self._tell(file, f"{text}; everything requested is found" if self.complete else text)

    def _tell(self, file: BinlogFile, text: str) -> None:
        if self._tells:
            tell(file.path, text)

    def _transactions(
        self, file: BinlogFile, level: Level, gtids: dict[bytes, bytes] | None
    ) -> TransactionScan:
        """Find a file's transactions by the shortest way, or by the one that passes over damage."""
        if self._on_damage is OnDamage.STOP:
            return file.transactions(level, verify=self._verify, gtids=gtids)
        scan = file.scan(Level.LEVEL_TABLES, verify=self._verify, on_damage=self._on_damage)
        self._salvaged.append(scan)
        return scan

    def _mask(self, file: BinlogFile, scan: TransactionScan, table: TransactionTable) -> bytearray:
        mask = self.selector.mask(file, scan, table)
        if self._check_tables is not None:
            self._leave_out_undecodable(scan, table, mask, self._check_tables)
        if self._row_filter is not None:
            if self._behind_damage:
                self._row_filter.forget_tables()
            self._row_filter.keep(file, table, mask, self._lost)
        self.taken += mask.count(1)
        return mask

    def _leave_out_undecodable(
        self, scan: TransactionScan, table: TransactionTable, mask: bytearray, catalog: Catalog
    ) -> None:
        """Unmark what cannot be decoded to its end, and find out whether definitions may have been lost."""
        from binx.rows.following import DecodingCheck

        damages = sum(len(salvaged.damage) for salvaged in self._salvaged)
        self._behind_damage, self._damages = damages > self._damages, damages
        check = DecodingCheck(scan.file, catalog)
        if self._behind_damage:
            check.forget_tables()
        salvages = self._on_damage is OnDamage.SALVAGE
        # What can be counted can be decoded, but for damage.
        marks = bytearray(mask) if salvages or scan.uncounted_tables() else bytearray(len(mask))
        table.mark_statements(marks)
        errors = check.undecodable(table, marks)
        self._lost = {
            index: error for index, error in errors.items() if salvages or isinstance(error, UndecodableError)
        }
        for index, error in self._lost.items():
            if mask[index]:
                mask[index] = 0
                self._undecodable.append(f"a transaction is left out: {error}")
            if table.value("statements", index):
                self._behind_damage = True
                check.forget_tables()

    def _is_before_all(self, place: int) -> bool:
        """Whether the next file, which follows without a gap, says that no missing GTID came before it."""
        if self.selector.selection.gtids is None or place + 1 == len(self._chain):
            return False
        ends, following = self._chain[place], self._chain[place + 1]
        known = following.previous_gtids
        if known is None or ends.chain != following.chain or ends_problems([ends, following]):
            return False
        return self.selector.missing().isdisjoint(known)
