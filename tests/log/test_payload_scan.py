"""Compressed payloads that no server writes: told for what they are, by the scan and by the decoder alike."""

from __future__ import annotations

import tracemalloc

import pytest

from binx.errors import BinxError
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement
from binx.slices.changes import Begin
from binx.slices.event_rows import events_with_rows
from tests.log import building as b
from tests.log.memory import Bytes, read

INNER = (b.BEGIN, b.table_map(), b.rows(1, 2, 3), b.xid())
CUT = b.rows(1, 2, 3)[:-4]
CLAIMS_A_GIGABYTE = b.event(30, b"")[:9] + (1 << 30).to_bytes(4, "little") + bytes(6)

DAMAGED = {
    "two transactions": (b.compressed(*INNER, *INNER), "found events behind the end of the transaction"),
    "a statement behind its end": (b.compressed(*INNER, b.CREATE), "found events behind the end"),
    "a transaction without its end": (b.compressed(*INNER[:-1]), "found one without its end"),
    "nothing": (b.compressed(), "found one without its end"),
    "a payload in the payload": (b.compressed(b.compressed(*INNER)), "found a compressed event within it"),
    "a cut event": (b.compressed(*INNER, CUT), "bytes that are left of the compressed payload, found one"),
    "a cut header": (b.compressed(*INNER, b.xid()[:18]), "found 18 bytes after the last one"),
    "an event without size": (b.compressed(bytes(64)), "found one that claims 0"),
    "an event that claims a gigabyte": (
        b.compressed(CLAIMS_A_GIGABYTE),
        "within the 19 bytes that are left of the compressed payload, found one that claims 1073741824",
    ),
    "a payload and an event that claim more than a server writes": (
        b.compressed(b.event(30, b"")[:9] + b"\xff" * 4 + bytes(6), claimed=1 << 40),
        "found one that claims 4294967295",
    ),
}


def logged(payload: bytes) -> bytes:
    return b.whole_log(b.gtid(1), payload, b.gtid(2), *INNER, b.STOP)


def test_a_whole_payload_is_a_transaction_with_its_rows() -> None:
    file = BinlogFile(Bytes(logged(b.compressed(*INNER))))
    (table,) = file.scan(Level.LEVEL_TABLES)
    assert [table.value("rows", index) for index in range(len(table))] == [3, 3]


@pytest.mark.parametrize(("payload", "words"), DAMAGED.values(), ids=list(DAMAGED))
def test_the_scan_says_what_is_wrong_with_a_payload(payload: bytes, words: str) -> None:
    reading = read(logged(payload), Level.LEVEL_TABLES)
    assert reading.transactions == []
    assert reading.error is not None
    assert words in reading.error.message
    assert reading.error.offset == len(b.whole_log(b.gtid(1)))


def index(data: bytes) -> tuple[BinlogFile, list[TransactionTable]]:
    file = BinlogFile(Bytes(data))
    return file, list(file.scan(Level.LEVEL_EVENTS))


@pytest.mark.parametrize("name", [name for name in DAMAGED if "event" in name or "in the payload" in name])
def test_the_decoder_says_it_too(name: str) -> None:
    file, tables = index(logged(DAMAGED[name][0]))
    decoder = ChangeDecoder(file, Catalog())
    with pytest.raises(BinxError):
        list(decoder.decode(tables[0], tables[0].mask()))


DAMAGED_WITHIN = {
    "rows that are cut": (b.BEGIN, b.table_map(), b.event(30, b.rows(1, 2, 3)[19:-1]), b.xid()),
    "a table map that is cut": (b.BEGIN, b.event(19, b.table_map()[19:-3]), b.rows(1), b.xid()),
}
PAYLOAD = len(b.whole_log(b.gtid(1)))


@pytest.mark.parametrize("inner", DAMAGED_WITHIN.values(), ids=list(DAMAGED_WITHIN))
def test_damage_within_a_payload_is_told_at_the_payload(inner: tuple[bytes, ...]) -> None:
    """What it holds stands nowhere in the file, so no other offset leads there."""
    data = logged(b.compressed(*inner))
    errors = [read(data, Level.LEVEL_TABLES).error]
    file, tables = index(data)
    with pytest.raises(BinxError) as raised:
        list(ChangeDecoder(file, Catalog()).decode(tables[0], tables[0].mask()))
    errors.append(raised.value)
    place = {name: tables[0].value(name, 0) for name in ("start", "end")}
    with pytest.raises(BinxError) as raised:
        list(events_with_rows(Begin(file, place, tables[0], 0), iter(()), ()))
    errors.append(raised.value)
    assert [error and (error.offset, error.event) for error in errors] == [
        (PAYLOAD, "TRANSACTION_PAYLOAD")
    ] * len(errors)


def test_what_is_said_of_a_prepared_transaction_stands_at_its_payload() -> None:
    inner = (b.XA_START, b.table_map(), b.rows(1), b.XA_END, b.xa_prepare())
    file, (table, *_) = index(b.whole_log(b.gtid(1), b.compressed(*inner), b.STOP))
    items = list(ChangeDecoder(file, Catalog()).decode(table, table.mask()))
    assert [item.position for item in items if isinstance(item, Statement)] == [PAYLOAD]


@pytest.mark.parametrize("claimed", [1 << 30, (1 << 40) + 7])
def test_a_payload_that_claims_a_gigabyte_takes_no_such_memory(claimed: int) -> None:
    inner = b.event(30, b"")[:9] + (1 << 30).to_bytes(4, "little") + bytes(6)
    data = b.whole_log(b.gtid(1), b.compressed(inner, claimed=claimed))
    tracemalloc.start()
    reading = read(data, Level.LEVEL_TABLES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.error is not None
    assert peak < 4 << 20
