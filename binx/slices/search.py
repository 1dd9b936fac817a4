"""Search a chain of files for the transactions of a selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, UndecodableError
from binx.event.format import Flavour
from binx.event.payload import PayloadCache
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, TransactionScan, report_step
from binx.log.chain.chain import ChainLog, chain_problems, epochs
from binx.log.scan import Scan, find_transactions
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector, required_level
from binx.log.succession import reached_before

if TYPE_CHECKING:
    from binx.kernels.transactions.table import TransactionTable
    from binx.rows.ddl.catalog import Catalog
    from binx.where.condition import Condition
    from binx.where.matching_transactions import RowFilter


_PAYLOAD_BYTES = 32 << 20
"""Bytes of decompressed transactions that are kept until their rows are decoded."""


class Selected(NamedTuple):
    """Transactions found by one scan of a file.

    Attributes:
        scan: the scan; its file must stay open until the output is written.
        mask: a mark for each transaction, 1 if it is selected; for others see
            :meth:`~binx.rows.decoder.ChangeDecoder.decode`.
        epoch: number of logs in the chain, up to this one, that began with a server start.
        first_seqno: number of the first transaction in the chain; increasing in any case.
        is_numbered: whether nothing was skipped before, so that ``first_seqno`` is the number in the chain.
        behind_damage: whether statements that define tables may have been lost immediately before.
        payloads: compressed transactions that the scan has just decompressed; None keeps none.
    """

    scan: TransactionScan
    table: TransactionTable
    mask: bytearray
    epoch: int = 0
    first_seqno: int = 0
    is_numbered: bool = True
    behind_damage: bool = False
    payloads: PayloadCache | None = None

    @property
    def file(self) -> BinlogFile:
        """The file that contains the transactions."""
        return self.scan.file


class Search:
    """A search for the transactions of a selection in a chain of files.

    Args:
        on_damage: what to do if a file is damaged; salvage reads whole files, without their index.
        tells: report what is done with each file; false if another search reports the same files.

    Attributes:
        taken: number of transactions selected so far.
        passed_over: number of files skipped so far, whose transactions are not counted.

    Raises:
        UsageError, AbsentError: as :class:`~binx.log.selection.selection.Selector`.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        *,
        verify: bool = True,
        where: Condition | None = None,
        tables: Catalog | None = None,
        on_damage: OnDamage = OnDamage.STOP,
        tells: bool = True,
    ) -> None:
        # The row condition applies before the limit.
        unlimited = selection if where is None else selection._replace(limit=None)
        self.selector = Selector(unlimited, [ends.file.name for ends in chain])
        self._row_filter: RowFilter | None = None
        if where is not None:
            from binx.rows.ddl.catalog import Catalog
            from binx.where.matching_transactions import RowFilter

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
        """One sentence for each range skipped so far because it could not be read."""
        damages = [f"{scan.file.path}: {damage}" for scan in self._salvaged for damage in scan.damage]
        return damages + self._undecodable

    @property
    def of_mariadb(self) -> bool:
        """Whether a MariaDB server wrote any of the files."""
        return any(ends.file.format.flavour is Flavour.MARIADB for ends in self._chain)

    @property
    def warnings(self) -> list[str]:
        """Warnings about table versions to which the condition could not be applied so far."""
        return [] if self._row_filter is None else self._row_filter.warnings

    @property
    def complete(self) -> bool:
        """Whether no further transaction can be selected."""
        return self.selector.complete or (self._row_filter is not None and self._row_filter.complete)

    def leave_out_undecodable(self, tables: Catalog, *, intact: bool = False) -> None:
        """Leave out and list transactions that cannot be decoded, if damage is salvaged.

        Args:
            tables: the tables known beforehand; not modified.
            intact: in any case, leave out transactions whose rows are intact but cannot be decoded for lack
                of information.
        """
        if self._on_damage is OnDamage.SALVAGE or intact:
            self._check_tables = tables.copy()

    def check_columns(self) -> None:
        """Raise AbsentError if no table had the condition's columns, UsageError if none fits it."""
        if self._row_filter is not None:
            self._row_filter.check()

    def runs(self) -> Iterator[Selected]:
        """Yield the selected transactions, in the order of the chain, reading no more than finds them.

        Raises:
            DamagedError, UnsupportedError: a required part of a file cannot be read.
        """
        level = Level.LEVEL_TABLES if self._row_filter else required_level(self.selector.selection)
        for part in self.walk(level, gtids=self.selector.sought):
            if part.mask.count(1):
                yield part

    def walk(self, level: Level, *, gtids: dict[bytes, bytes] | None = None) -> Iterator[Selected]:
        """Yield the transactions of the files that are not ruled out, with masks of those selected.

        Args:
            level: how much to read, at least :func:`~binx.log.selection.selection.required_level`.
            gtids: transactions without any of these may be left out.

        Raises:
            DamagedError, UnsupportedError: a required part of a file cannot be read.
        """
        selector, seqno = self.selector, 1
        for index, (ends, epoch) in enumerate(zip(self._chain, epochs(self._chain), strict=True)):
            if self.complete:
                self._note_repeats(index)
                return
            if selector.rules_out(ends.file, ends.facts.previous_gtids) or self._is_before_all(index):
                self.passed_over += 1
                ends.file.source.release(ends.file.size, ends.file.size)
                self._tell(ends.file, "not read: ruled out by GTIDs of neighbouring files, or by positions")
                continue
            is_numbered = self.passed_over == 0 and gtids is None
            for scan, table, mask in self._read(ends.file, level, gtids):
                yield Selected(scan, table, mask, epoch, seqno, is_numbered, self._behind_damage)
                seqno += len(table)

    def selected(self, *, rolled_back: bool = True) -> Iterator[Selected]:
        """Yield the selected transactions with everything that decoding their rows requires.

        Other transactions are marked if their statements may define tables.

        Args:
            rolled_back: include the rows of selected transactions that were rolled back.

        Raises:
            DamagedError, UnsupportedError: a required part of a file cannot be read.
        """
        seqno = 1
        for index, (ends, epoch) in enumerate(zip(self._chain, epochs(self._chain), strict=True)):
            if self.complete:
                self._note_repeats(index)
                return
            payloads = PayloadCache(_PAYLOAD_BYTES)
            for scan, table, mask in self._read(ends.file, Level.LEVEL_TABLES, payloads=payloads):
                (table.mark_statements if rolled_back else table.mark_work)(mask)
                for lost in self._lost:
                    mask[lost] = 0
                yield Selected(
                    scan, table, mask, epoch, seqno, behind_damage=self._behind_damage, payloads=payloads
                )
                payloads.clear()
                seqno += len(table)
            ends.file.source.release(0, ends.file.size)

    def _read(
        self,
        file: BinlogFile,
        level: Level,
        gtids: dict[bytes, bytes] | None = None,
        payloads: PayloadCache | None = None,
    ) -> Iterator[tuple[TransactionScan, TransactionTable, bytearray]]:
        """Yield the transactions of one file, with masks of those selected."""
        read, taken_before = 0, self.taken
        scan = self._transactions(file, level, gtids)
        if isinstance(scan, Scan):
            scan.payloads = payloads
        for table in scan:
            mask = self._mask(file, scan, table)
            read += len(table)
            yield scan, table, mask
            if self.complete:
                break
        else:
            if scan.unfinished:
                self.selector.note(
                    f"{file.path}: its last {scan.unfinished:,} bytes are an incomplete transaction and are"
                    " not read: the server is writing it, or was when it crashed"
                )
        text = f"{read:,} transactions read, {self.taken - taken_before:,} selected"
        self._tell(file, f"{text}; everything requested is found" if self.complete else text)

    def _tell(self, file: BinlogFile, text: str) -> None:
        if self._tells:
            report_step(file.path, text)

    def _transactions(
        self, file: BinlogFile, level: Level, gtids: dict[bytes, bytes] | None
    ) -> TransactionScan:
        """Scan a file's transactions, through the index if possible, or salvaging damage."""
        texts = self.selector.selection.texts
        if self._on_damage is OnDamage.STOP:
            return find_transactions(file, level, verify=self._verify, gtids=gtids, texts=texts)
        scan = Scan(file, Level.LEVEL_TABLES, verify=self._verify, on_damage=self._on_damage, texts=texts)
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
        """Deselect transactions that cannot be decoded; detect possibly lost table definitions."""
        from binx.rows.reading import DecodingCheck

        damages = sum(len(salvaged.damage) for salvaged in self._salvaged)
        self._behind_damage, self._damages = damages > self._damages, damages
        check = DecodingCheck(scan.file, catalog)
        if self._behind_damage:
            check.forget_tables()
        salvages = self._on_damage is OnDamage.SALVAGE
        # Rows that can be counted can be decoded, unless they are damaged.
        decoded = bytearray(mask) if salvages or scan.uncounted_tables() else bytearray(len(mask))
        table.mark_statements(decoded)
        errors = check.undecodable(table, decoded)
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

    def _note_repeats(self, index: int) -> None:
        """Note the first unread file in which the server may have given GTIDs again that were found."""
        if self.selector.selection.gtids is None:
            return
        found = self.selector.selection.gtids - self.selector.unmet
        for ends in self._chain[index:]:
            listed = reached_before(ends.facts) if ends.chain == self._chain[index - 1].chain else None
            if listed is not None and not found <= listed:
                self.selector.note(
                    f"{ends.file.path}: not read, although GTIDs begin again with it; given without the files"
                    f" before it, it tells whether it has other transactions of {found - listed}"
                )
                return

    def _is_before_all(self, index: int) -> bool:
        """Whether the next file, which follows without a gap, has none of the unmet GTIDs before it."""
        if self.selector.selection.gtids is None or index + 1 == len(self._chain):
            return False
        ends, next_ends = self._chain[index], self._chain[index + 1]
        earlier = next_ends.facts.previous_gtids
        if earlier is None or ends.chain != next_ends.chain or chain_problems([ends, next_ends]):
            return False
        return self.selector.unmet.isdisjoint(earlier)
