"""What is known of the leaves of a file while its row groups are written."""

from collections.abc import Sequence

class Leaves:
    """The leaves of files of the same columns.

    Args:
        leaves: of each its form, a :class:`~binx.kernels.numbers.Form`; the width of a value or of a word's
            number; its physical type; whether it can be null, has a dictionary however many words there are,
            and has statistics; whether its bytes are text; and its path as the field of a Thrift struct.

    Attributes:
        count: how many.
    """

    def __init__(self, leaves: Sequence[tuple[int, int, int, bool, bool, bool, bool, bytes]]) -> None: ...
    @property
    def count(self) -> int: ...

class Worth:
    """Whether compressing the chunks of each leaf of a file is worth it, as those before tell.

    Args:
        leaves: the file's.
    """

    def __init__(self, leaves: Leaves) -> None: ...
