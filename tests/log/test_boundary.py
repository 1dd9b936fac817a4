"""The state machine: every way through it as a sentence, and that what is illegal changes nothing.

What is legal is MySQL's grammar (``Transaction_boundary_parser`` in sql/rpl_trx_boundary_parser.cc; the
manual, "The Binary Log"), MariaDB's (``Gtid_log_event`` in sql/log_event.h), and what servers before GTIDs
wrote.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.kernels.transactions.table import Kind
from binx.kernels.walk.scan import Action, EventClass
from binx.log.boundary import TRANSITIONS, BoundaryState
from tests.log import building as b

SAMPLES = {
    EventClass.CLASS_CONTROL: b.ROTATE,
    EventClass.CLASS_GTID: b.gtid(),
    EventClass.CLASS_GTID_STANDALONE: b.mariadb_gtid(standalone=True),
    EventClass.CLASS_GTID_GROUP: b.mariadb_gtid(),
    EventClass.CLASS_BEGIN: b.BEGIN,
    EventClass.CLASS_COMMIT: b.xid(),
    EventClass.CLASS_ROLLBACK: b.ROLLBACK,
    EventClass.CLASS_XA_START: b.XA_START,
    EventClass.CLASS_XA_PREPARE: b.xa_prepare(),
    EventClass.CLASS_XA_ONE_PHASE: b.xa_prepare(one_phase=True),
    EventClass.CLASS_XA_COMMIT: b.XA_COMMIT,
    EventClass.CLASS_XA_ROLLBACK: b.XA_ROLLBACK,
    EventClass.CLASS_CHANGE: b.INSERT,
    EventClass.CLASS_STATEMENT: b.CREATE,
    EventClass.CLASS_MARKER: b.SAVEPOINT,
    EventClass.CLASS_PREPARATION: b.INTVAR,
    EventClass.CLASS_TABLE_MAP: b.table_map(),
    EventClass.CLASS_ROWS: b.rows(1, end=False),
    EventClass.CLASS_ROWS_END: b.rows(1),
    EventClass.CLASS_LOAD_BLOCK: b.BEGIN_LOAD,
    EventClass.CLASS_LOAD_END: b.EXECUTE_LOAD,
    EventClass.CLASS_ANNOTATION: b.ROWS_QUERY,
    EventClass.CLASS_PAYLOAD: b.payload(),
    EventClass.CLASS_INCIDENT: b.INCIDENT,
    EventClass.CLASS_CONTEXT: b.VIEW_CHANGE,
    EventClass.CLASS_UNKNOWN: b.UNKNOWN,
}
"""One event of each class."""

WAYS = {
    BoundaryState.OUTSIDE: [],
    BoundaryState.NAMED: [b.gtid()],
    BoundaryState.STANDALONE: [b.mariadb_gtid(standalone=True)],
    BoundaryState.OPEN: [b.BEGIN],
    BoundaryState.XA_OPEN: [b.XA_START],
    BoundaryState.PREPARING: [b.INTVAR],
    BoundaryState.BARE_ROWS: [b.table_map()],
    BoundaryState.LOADING: [b.BEGIN_LOAD],
}
"""How each state is reached."""

ENDS = {
    BoundaryState.OUTSIDE: b.CREATE,
    BoundaryState.NAMED: b.CREATE,
    BoundaryState.STANDALONE: b.CREATE,
    BoundaryState.OPEN: b.xid(),
    BoundaryState.XA_OPEN: b.xa_prepare(),
    BoundaryState.PREPARING: b.INSERT,
    BoundaryState.BARE_ROWS: b.rows(1),
    BoundaryState.LOADING: b.EXECUTE_LOAD,
}
"""What ends the transaction that a state stands in."""

ROW_CHANGE = [b.table_map(), b.rows(1)]

SENTENCES = {
    "a DDL is one QUERY after its GTID": ([b.gtid(), b.CREATE], [Kind.KIND_DDL]),
    "a DDL needs no GTID": ([b.CREATE, b.CREATE], [Kind.KIND_DDL, Kind.KIND_DDL]),
    "a DDL may have user variables before it": ([b.gtid(), b.USER_VAR, b.CREATE], [Kind.KIND_DDL]),
    "row changes stand between BEGIN and XID": (
        [b.gtid(), b.BEGIN, *ROW_CHANGE, b.xid()],
        [Kind.KIND_DML],
    ),
    "several statements are one transaction": (
        [b.gtid(), b.BEGIN, *ROW_CHANGE, *ROW_CHANGE, b.INTVAR, b.RAND, b.INSERT, b.xid()],
        [Kind.KIND_DML],
    ),
    "rows of one statement may come in several events": (
        [b.BEGIN, b.table_map(), b.rows(1, end=False), b.rows(2), b.xid()],
        [Kind.KIND_DML],
    ),
    "COMMIT ends it where the engine has no transactions": (
        [b.gtid(), b.BEGIN, b.INSERT, b.COMMIT],
        [Kind.KIND_DML],
    ),
    "ROLLBACK ends it where it cannot undo all": (
        [b.gtid(), b.BEGIN, b.INSERT, b.ROLLBACK],
        [Kind.KIND_ROLLBACK],
    ),
    "BEGIN and COMMIT alone are empty": ([b.gtid(), b.BEGIN, b.COMMIT], [Kind.KIND_EMPTY]),
    "a GTID and COMMIT alone are empty": ([b.gtid(), b.COMMIT], [Kind.KIND_EMPTY]),
    "savepoints leave the transaction open": (
        [b.BEGIN, b.SAVEPOINT, *ROW_CHANGE, b.query("ROLLBACK TO `a`"), b.INSERT, b.xid()],
        [Kind.KIND_DML],
    ),
    "CREATE TABLE … SELECT stands within BEGIN and XID": (
        [b.gtid(), b.BEGIN, b.CREATE, *ROW_CHANGE, b.xid()],
        [Kind.KIND_DML],
    ),
    "XA PREPARE ends the first half, XA COMMIT is a transaction of its own": (
        [b.gtid(), b.XA_START, *ROW_CHANGE, b.XA_END, b.xa_prepare(), b.gtid(2), b.XA_COMMIT],
        [Kind.KIND_XA_PREPARE, Kind.KIND_XA_COMMIT],
    ),
    "XA ROLLBACK is a transaction of its own": (
        [b.gtid(), b.XA_START, *ROW_CHANGE, b.XA_END, b.xa_prepare(), b.gtid(2), b.XA_ROLLBACK],
        [Kind.KIND_XA_PREPARE, Kind.KIND_XA_ROLLBACK],
    ),
    "XA COMMIT ONE PHASE commits at once": (
        [b.gtid(), b.XA_START, *ROW_CHANGE, b.XA_END, b.xa_prepare(one_phase=True)],
        [Kind.KIND_DML],
    ),
    "a compressed transaction is a GTID and a payload": ([b.gtid(), b.payload()], [Kind.KIND_DML]),
    "an INCIDENT may stand after a GTID or alone": (
        [b.gtid(), b.INCIDENT, b.INCIDENT],
        [Kind.KIND_INCIDENT, Kind.KIND_INCIDENT],
    ),
    "LOAD DATA comes in blocks, then the statement": (
        [b.gtid(), b.BEGIN, b.BEGIN_LOAD, b.APPEND_BLOCK, b.INTVAR, b.EXECUTE_LOAD, b.xid()],
        [Kind.KIND_DML],
    ),
    "a LOAD DATA without BEGIN ends with its statement": (
        [b.BEGIN_LOAD, b.APPEND_BLOCK, b.INTVAR, b.EXECUTE_LOAD],
        [Kind.KIND_DML],
    ),
    "a LOAD DATA that failed ends with DELETE_FILE": ([b.BEGIN_LOAD, b.DELETE_FILE], [Kind.KIND_DML]),
    "a LOAD DATA may send blocks before BEGIN": (
        [b.BEGIN_LOAD, b.BEGIN, b.EXECUTE_LOAD, b.xid()],
        [Kind.KIND_DML],
    ),
    "ROWS_QUERY stands before the table map": (
        [b.gtid(), b.BEGIN, b.ROWS_QUERY, *ROW_CHANGE, b.xid()],
        [Kind.KIND_DML],
    ),
    "a statement on a table without transactions stands alone": ([b.INSERT], [Kind.KIND_DML]),
    "a statement may stand after comments": (
        [b.query("/* one */ -- two\nINSERT INTO t VALUES (1)"), b.query("/*Metabase*/ UPDATE t SET a = 1")],
        [Kind.KIND_DML, Kind.KIND_DML],
    ),
    "a comment that a server executes is no comment": (
        [b.query("/*!40000 INSERT */ t"), b.query("/*M!100100 INSERT */ t")],
        [Kind.KIND_DDL, Kind.KIND_DDL],
    ),
    "INTVAR belongs to the statement after it": ([b.INTVAR, b.RAND, b.INSERT], [Kind.KIND_DML]),
    "rows without BEGIN end with their statement": (
        [b.table_map(), b.rows(1, end=False), b.rows(2), b.CREATE],
        [Kind.KIND_DML, Kind.KIND_DDL],
    ),
    "a MariaDB GTID of a group is its own BEGIN": (
        [b.mariadb_gtid(), *ROW_CHANGE, b.xid()],
        [Kind.KIND_DML],
    ),
    "a MariaDB group may be prepared": (
        [b.mariadb_gtid(), *ROW_CHANGE, b.XA_END, b.xa_prepare(), b.mariadb_gtid(2), b.XA_COMMIT],
        [Kind.KIND_XA_PREPARE, Kind.KIND_XA_COMMIT],
    ),
    "a standalone MariaDB GTID is followed by one statement": (
        [b.mariadb_gtid(standalone=True), b.CREATE, b.mariadb_gtid(2, standalone=True), b.INSERT],
        [Kind.KIND_DDL, Kind.KIND_DML],
    ),
    "rows of a standalone statement need no COMMIT": (
        [b.mariadb_gtid(standalone=True), *ROW_CHANGE],
        [Kind.KIND_DML],
    ),
    "events about the file stand between transactions": (
        [b.STOP, b.CREATE, b.ROTATE, b.VIEW_CHANGE],
        [Kind.KIND_DDL],
    ),
    "events about the file stand within a transaction of a relay log": (
        [b.gtid(), b.ROTATE, b.BEGIN, b.ROTATE, *ROW_CHANGE, b.xid()],
        [Kind.KIND_DML],
    ),
    "an unknown event that may be ignored is passed over": (
        [b.gtid(), b.event(99, b"?", flags=0x80), b.BEGIN, b.event(99, b"?", flags=0x80), b.INSERT, b.xid()],
        [Kind.KIND_DML],
    ),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_legal_path_is_one_sentence(sentence: str) -> None:
    events, kinds = SENTENCES[sentence]
    table = b.transactions(*events)
    assert [Kind(table.value("kind", index)) for index in range(len(table))] == kinds


@pytest.mark.parametrize(
    "sentence", sorted(SENTENCES.keys() - {"events about the file stand between transactions"})
)
def test_transactions_follow_each_other_without_a_gap(sentence: str) -> None:
    events, _ = SENTENCES[sentence]
    table = b.transactions(*events)
    places = [(table.value("start", i), table.value("end", i)) for i in range(len(table))]
    assert places[0][0] == b.FIRST
    assert places[-1][1] == b.FIRST + sum(map(len, events))
    assert all(before[1] == after[0] for before, after in pairwise(places))


def illegal_steps() -> list[tuple[BoundaryState, EventClass]]:
    return [
        (state, event_class)
        for state in BoundaryState
        for event_class in SAMPLES
        if event_class not in TRANSITIONS[state]
    ]


@pytest.mark.parametrize(("state", "event_class"), illegal_steps())
def test_an_illegal_event_raises_and_changes_nothing(state: BoundaryState, event_class: EventClass) -> None:
    scan = b.scanner()
    b.feed(scan, *WAYS[state])
    before = (scan.position, scan.open_transaction, len(scan.table), scan.type_totals())
    expected = UnsupportedError if event_class == EventClass.CLASS_UNKNOWN else DamagedError
    with pytest.raises(expected) as raised:
        b.feed(scan, SAMPLES[event_class])
    assert raised.value.offset == scan.position
    assert (scan.position, scan.open_transaction, len(scan.table), scan.type_totals()) == before

    b.feed(scan, ENDS[state])
    undisturbed = b.transactions(*WAYS[state], ENDS[state])
    table = scan.new_table()
    assert len(table) == 1
    for field in ("start", "end", "kind", "events", "statements", "xid", "thread_id"):
        assert table.column(field) == undisturbed.column(field), field


def legal_steps() -> list[tuple[BoundaryState, EventClass]]:
    return [(state, event_class) for state, steps in TRANSITIONS.items() for event_class in steps]


@pytest.mark.parametrize(("state", "event_class"), legal_steps())
def test_the_compiled_scan_runs_the_table(state: BoundaryState, event_class: EventClass) -> None:
    step = TRANSITIONS[state][event_class]
    scan = b.scanner()
    b.feed(scan, *WAYS[state], SAMPLES[event_class])
    ended = step.action in {Action.ACTION_END, Action.ACTION_START_END}
    assert len(scan.table) == ended
    assert (scan.open_transaction is None) == (step.to == BoundaryState.OUTSIDE)
    if not ended and step.to != BoundaryState.OUTSIDE:
        b.feed(scan, ENDS[step.to])
        assert len(scan.table) == 1


def test_every_class_has_a_sample_and_every_state_a_way() -> None:
    assert set(SAMPLES) == set(EventClass) - {EventClass.CLASSES}
    assert set(WAYS) == set(ENDS) == set(TRANSITIONS) == set(BoundaryState)


def test_a_query_cut_before_its_text_is_damage_and_no_transaction() -> None:
    cut = b.event(2, bytes(12))
    scan = b.scanner()
    with pytest.raises(BinxError):
        b.feed(scan, cut)
    assert len(scan.table) == 0
    assert scan.open_transaction is None
