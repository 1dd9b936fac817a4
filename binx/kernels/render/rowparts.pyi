"""How the values of a column are spelled: the numbers that Python and the kernel of row texts share."""

from enum import IntEnum

class Spelling(IntEnum):
    r"""How a column's values are written.

    ``NOTHING`` has no column; ``TEXT`` stands as it is; ``SQL`` and ``JSON`` are strings of UTF-8 in quotes;
    ``REAL`` is text that gets an exponent where it has none; ``SIGNED`` to ``TIME`` are numbers of fixed
    width: DECIMAL unscaled, moments and spans in µs, days; ``ASKED`` is told by Python, value by value;
    ``ESCAPED`` is text with ``\xNN`` for what is no UTF-8; ``SHOWN`` is a string of JSON and ``VISIBLE``
    text, in both of which what is invisible is escaped too. The last four have no column: ``STATEMENT`` is
    the statement's number in its transaction, on its first row; ``EVENT`` a text before the first row of a
    rows event, ``BETWEEN`` one before each other row; ``ORDINAL`` the row's number in its event.
    """

    SPELL_NOTHING = 0
    SPELL_TEXT = 1
    SPELL_SQL = 2
    SPELL_JSON = 3
    SPELL_HEXADECIMAL = 4
    SPELL_BASE64 = 5
    SPELL_REAL = 6
    SPELL_SIGNED = 7
    SPELL_UNSIGNED = 8
    SPELL_DECIMAL = 9
    SPELL_MOMENT = 10
    SPELL_INSTANT = 11
    SPELL_DATE = 12
    SPELL_TIME = 13
    SPELL_ASKED = 14
    SPELL_ESCAPED = 15
    SPELL_SHOWN = 16
    SPELL_VISIBLE = 17
    SPELL_STATEMENT = 18
    SPELL_EVENT = 19
    SPELL_ORDINAL = 20
    SPELL_BETWEEN = 21

class State(IntEnum):
    """Why the writing stopped."""

    STATE_DONE = 0
    STATE_FULL = 1
    STATE_ASKED = 2
