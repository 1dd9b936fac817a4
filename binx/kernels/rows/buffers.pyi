"""The Arrow buffers of one table's rows."""

from typing import Any

from binx.kernels.memory import Spare

class RowBuffers:
    """The columns of one table."""

    def __init__(
        self, plan: list[tuple[int, int, int, int]], key: object, name: object, spare: Spare
    ) -> None:
        """Begin with no rows.

        Args:
            plan: for each column: codec, bytes of the length prefix (0: fixed width), width, parameter. The
                parameter is precision << 8 | scale for DECIMAL, fractional digits for times, the padded
                length for BINARY, the number of members for ENUM.
            key: whatever the caller knows the table by.
            name: what the table's rows in other slices of the log are known by, too.
            spare: where the memory of batches that are done with is kept for the next ones.
        """

    @property
    def key(self) -> Any: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def bytes(self) -> int:
        """Bytes that the rows take, nearly."""

    def finish(self) -> dict[str, Any]:
        """Hand all rows over and start anew.

        Returns:
            ``rows``; the system columns by name, each :class:`Memory` of one value a row; ``present``:
            (validity, offsets, bits, nulls), or None where every row is whole; ``identifiers``:
            (offsets, text, count), which ``transactions`` numbers; ``columns``: for each column
            (validity or None, nulls, values, data, extra); ``misfits``: a list of (row, column, text).
        """
