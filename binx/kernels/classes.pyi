"""The classes that the boundary state machine tells events into, and what a step does to the transaction."""

from enum import IntEnum

class Action(IntEnum):
    """What a step of the boundary state machine does to the transaction."""

    ACTION_KEEP = 0
    ACTION_START = 1
    ACTION_START_END = 2
    ACTION_END = 3
    ACTION_ILLEGAL = 255

class EventClass(IntEnum):
    """What an event is to the boundary state machine."""

    CLASS_CONTROL = 0
    CLASS_GTID = 1
    CLASS_GTID_STANDALONE = 2
    CLASS_GTID_GROUP = 3
    CLASS_BEGIN = 4
    CLASS_COMMIT = 5
    CLASS_ROLLBACK = 6
    CLASS_XA_START = 7
    CLASS_XA_PREPARE = 8
    CLASS_XA_ONE_PHASE = 9
    CLASS_XA_COMMIT = 10
    CLASS_XA_ROLLBACK = 11
    CLASS_CHANGE = 12
    CLASS_STATEMENT = 13
    CLASS_MARKER = 14
    CLASS_PREPARATION = 15
    CLASS_TABLE_MAP = 16
    CLASS_ROWS = 17
    CLASS_ROWS_END = 18
    CLASS_LOAD_BLOCK = 19
    CLASS_LOAD_END = 20
    CLASS_ANNOTATION = 21
    CLASS_PAYLOAD = 22
    CLASS_INCIDENT = 23
    CLASS_CONTEXT = 24
    CLASS_UNKNOWN = 25
    CLASSES = 26
