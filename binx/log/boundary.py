"""The state machine of transaction boundaries, as a literal table.

Rules (MySQL's ``Transaction_boundary_parser`` in ``sql/rpl_trx_boundary_parser.cc``, MariaDB's
``Gtid_log_event`` flags in ``sql/log_event.h``, and what 5.0 and 5.1 wrote before GTIDs existed):

* DDL is ``[GTID] (INTVAR | RAND | USER_VAR)* QUERY``.
* DML is ``[GTID] QUERY(BEGIN)``, then statements (``QUERY``, or ``TABLE_MAP`` and rows events), then ``XID``,
  ``QUERY(COMMIT)`` or ``QUERY(ROLLBACK)``.
* XA is ``[GTID] QUERY(XA START) … QUERY(XA END) XA_PREPARE``; the later ``XA COMMIT`` or ``XA ROLLBACK`` is a
  separate transaction.
* A MariaDB GTID event records whether a single statement (standalone) or a group follows; for a group it is
  the BEGIN.
* A compressed transaction is a GTID and one TRANSACTION_PAYLOAD.
* Without GTID and BEGIN, a statement on a non-transactional table is a transaction: one QUERY, the blocks and
  the end of a LOAD DATA, or (early 5.1) table maps and rows up to the end of the statement.
* Events about the file rather than data may appear anywhere, also within a transaction (relay logs).

An event without a step in :data:`TRANSITIONS` is illegal in that state: the scan raises
:class:`~binx.errors.DamagedError` and keeps its state. The compiled scan (``binx/kernels/walk/scan.pyx``)
runs this same table, see :func:`compiled`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from binx.kernels.transactions.table import Kind
from binx.kernels.walk.scan import Action, EventClass


class BoundaryState(IntEnum):
    """State of the parser after an event."""

    OUTSIDE = 0
    """Between transactions."""
    NAMED = 1
    """After a MySQL GTID event: the transaction's body must follow."""
    STANDALONE = 2
    """After a MariaDB GTID event with the standalone flag."""
    OPEN = 3
    """Within BEGIN … COMMIT, or after a MariaDB GTID event of a group."""
    XA_OPEN = 4
    """Within XA START … XA PREPARE."""
    PREPARING = 5
    """After INTVAR, RAND or USER_VAR of a statement that has neither GTID nor BEGIN."""
    BARE_ROWS = 6
    """Within the rows of a statement that has neither GTID nor BEGIN."""
    LOADING = 7
    """Within the blocks of a LOAD DATA that has neither GTID nor BEGIN."""


class Step(NamedTuple):
    """A transition: whether it starts or ends a transaction, the next state, and the kind of what ended."""

    action: Action
    to: BoundaryState
    kind: Kind = Kind.KIND_OTHER


E = EventClass
KEEP, START, END = Action.ACTION_KEEP, Action.ACTION_START, Action.ACTION_END
ALONE = Action.ACTION_START_END


def stay(state: BoundaryState, *classes: EventClass) -> dict[EventClass, Step]:
    """Return steps for events that belong to the transaction and keep the state."""
    return {event_class: Step(KEEP, state) for event_class in classes}


STATEMENT_PARTS: Final = (
    E.CLASS_CONTROL,
    E.CLASS_CHANGE,
    E.CLASS_STATEMENT,
    E.CLASS_MARKER,
    E.CLASS_PREPARATION,
    E.CLASS_TABLE_MAP,
    E.CLASS_ROWS,
    E.CLASS_ROWS_END,
    E.CLASS_LOAD_BLOCK,
    E.CLASS_LOAD_END,
    E.CLASS_ANNOTATION,
    E.CLASS_INCIDENT,
    E.CLASS_CONTEXT,
)
"""Events allowed between BEGIN and COMMIT."""

TRANSITIONS: Final[dict[BoundaryState, dict[EventClass, Step]]] = {
    BoundaryState.OUTSIDE: {
        E.CLASS_CONTROL: Step(KEEP, BoundaryState.OUTSIDE),
        E.CLASS_GTID: Step(START, BoundaryState.NAMED),
        E.CLASS_GTID_STANDALONE: Step(START, BoundaryState.STANDALONE),
        E.CLASS_GTID_GROUP: Step(START, BoundaryState.OPEN),
        E.CLASS_BEGIN: Step(START, BoundaryState.OPEN),
        E.CLASS_XA_START: Step(START, BoundaryState.XA_OPEN),
        E.CLASS_PREPARATION: Step(START, BoundaryState.PREPARING),
        E.CLASS_TABLE_MAP: Step(START, BoundaryState.BARE_ROWS),
        E.CLASS_ANNOTATION: Step(START, BoundaryState.BARE_ROWS),
        E.CLASS_LOAD_BLOCK: Step(START, BoundaryState.LOADING),
        E.CLASS_CHANGE: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_LOAD_END: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_STATEMENT: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_DDL),
        E.CLASS_MARKER: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_OTHER),
        E.CLASS_COMMIT: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_EMPTY),
        E.CLASS_ROLLBACK: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_ROLLBACK),
        E.CLASS_XA_COMMIT: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_XA_COMMIT),
        E.CLASS_XA_ROLLBACK: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_XA_ROLLBACK),
        E.CLASS_INCIDENT: Step(ALONE, BoundaryState.OUTSIDE, Kind.KIND_INCIDENT),
        E.CLASS_CONTEXT: Step(KEEP, BoundaryState.OUTSIDE),
    },
    BoundaryState.NAMED: {
        **stay(
            BoundaryState.NAMED, E.CLASS_CONTROL, E.CLASS_CONTEXT, E.CLASS_PREPARATION, E.CLASS_ANNOTATION
        ),
        **stay(BoundaryState.NAMED, E.CLASS_LOAD_BLOCK),
        E.CLASS_BEGIN: Step(KEEP, BoundaryState.OPEN),
        E.CLASS_XA_START: Step(KEEP, BoundaryState.XA_OPEN),
        E.CLASS_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_EMPTY),
        E.CLASS_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_ROLLBACK),
        E.CLASS_CHANGE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_LOAD_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_STATEMENT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DDL),
        E.CLASS_XA_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_COMMIT),
        E.CLASS_XA_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_ROLLBACK),
        E.CLASS_PAYLOAD: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_INCIDENT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_INCIDENT),
    },
    BoundaryState.STANDALONE: {
        **stay(
            BoundaryState.STANDALONE,
            E.CLASS_CONTROL,
            E.CLASS_PREPARATION,
            E.CLASS_ANNOTATION,
            E.CLASS_LOAD_BLOCK,
        ),
        **stay(BoundaryState.STANDALONE, E.CLASS_TABLE_MAP, E.CLASS_ROWS),
        E.CLASS_ROWS_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_EMPTY),
        E.CLASS_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_ROLLBACK),
        E.CLASS_CHANGE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_LOAD_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_STATEMENT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DDL),
        E.CLASS_XA_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_COMMIT),
        E.CLASS_XA_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_ROLLBACK),
        E.CLASS_INCIDENT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_INCIDENT),
    },
    BoundaryState.OPEN: {
        **stay(BoundaryState.OPEN, *STATEMENT_PARTS),
        E.CLASS_XA_START: Step(KEEP, BoundaryState.XA_OPEN),
        E.CLASS_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_ROLLBACK),
        E.CLASS_XA_PREPARE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_PREPARE),
        E.CLASS_XA_ONE_PHASE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_XA_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_COMMIT),
        E.CLASS_XA_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_ROLLBACK),
    },
    BoundaryState.XA_OPEN: {
        **stay(BoundaryState.XA_OPEN, *STATEMENT_PARTS),
        E.CLASS_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_ROLLBACK),
        E.CLASS_XA_PREPARE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_PREPARE),
        E.CLASS_XA_ONE_PHASE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_XA_COMMIT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_XA_ROLLBACK: Step(END, BoundaryState.OUTSIDE, Kind.KIND_XA_ROLLBACK),
    },
    BoundaryState.PREPARING: {
        **stay(BoundaryState.PREPARING, E.CLASS_CONTROL, E.CLASS_PREPARATION, E.CLASS_LOAD_BLOCK),
        E.CLASS_BEGIN: Step(KEEP, BoundaryState.OPEN),
        E.CLASS_CHANGE: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_LOAD_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
        E.CLASS_STATEMENT: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DDL),
    },
    BoundaryState.BARE_ROWS: {
        **stay(BoundaryState.BARE_ROWS, E.CLASS_CONTROL, E.CLASS_ANNOTATION, E.CLASS_TABLE_MAP, E.CLASS_ROWS),
        E.CLASS_ROWS_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
    },
    BoundaryState.LOADING: {
        **stay(BoundaryState.LOADING, E.CLASS_CONTROL, E.CLASS_PREPARATION, E.CLASS_LOAD_BLOCK),
        E.CLASS_BEGIN: Step(KEEP, BoundaryState.OPEN),
        E.CLASS_LOAD_END: Step(END, BoundaryState.OUTSIDE, Kind.KIND_DML),
    },
}


def compiled() -> tuple[bytes, bytes, bytes]:
    """Return the table in the compiled scan's form: actions, next states and kinds, by state × class."""
    classes = int(EventClass.CLASSES)
    actions = bytearray([Action.ACTION_ILLEGAL]) * (len(BoundaryState) * classes)
    states = bytearray(len(actions))
    kinds = bytearray(len(actions))
    for state, steps in TRANSITIONS.items():
        for event_class, step in steps.items():
            at = state * classes + event_class
            actions[at], states[at], kinds[at] = step.action, step.to, step.kind
    return bytes(actions), bytes(states), bytes(kinds)
