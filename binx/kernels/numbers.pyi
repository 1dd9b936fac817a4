"""What the values of a column are: the numbers that Python and the page kernel share."""

from enum import IntEnum

class Form(IntEnum):
    """What a leaf's values are in Arrow, and so in Parquet."""

    FORM_BOOL = 0
    FORM_INT8 = 1
    FORM_INT16 = 2
    FORM_UINT16 = 3
    FORM_INT32 = 4
    FORM_UINT32 = 5
    FORM_INT64 = 6
    FORM_UINT64 = 7
    FORM_FLOAT32 = 8
    FORM_FLOAT64 = 9
    FORM_DECIMAL_AS_INT32 = 10
    FORM_DECIMAL_AS_INT64 = 11
    FORM_DECIMAL = 12
    FORM_BYTES = 13
    FORM_WORDS = 14
