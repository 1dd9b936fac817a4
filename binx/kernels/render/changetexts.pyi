"""Row changes of several tables as one text in the log's order, straight from the columns' own memory."""

from collections.abc import Callable, Iterator

from typing_extensions import Buffer

from binx.kernels.render.changeparts import ChangeParts

class ChangeTexts(ChangeParts):
    """Row changes, to be written in the log's order.

    Attributes:
        last_version: the transaction of the change that was written last.
        long_texts: changes whose text is longer than a packet.
        longest: bytes of the longest text of a change.
        size: bytes that are to be taken.
    """

    last_version: int
    long_texts: int
    longest: int

    @property
    def size(self) -> int: ...
    def __init__(
        self, separator: bytes, limit: int, packet: int, last_version: int, statement_bytes: int = 0
    ) -> None:
        """Begin without changes.

        Args:
            separator: stands between two changes of one transaction.
            limit: bytes at which a piece of the output is handed over.
            packet: bytes beyond which texts are counted as long.
            last_version: the transaction that was written before.
            statement_bytes: bytes up to which a statement takes several changes together.
        """

    def begin(self, first: int, last: int, ordinal: int = 0) -> None:
        """Set out to write the changes from one place up to another.

        Args:
            first: the first of them.
            last: the one behind the last.
            ordinal: the first one's number in its rows event; the others count on from there.
        """

    def begin_framed(
        self, first_run: int, last_run: int, head_ends: Buffer, heads: Buffer, foot: bytes
    ) -> None:
        """Set out to write all changes of some runs, each of which is a whole transaction.

        Args:
            first_run: the first of them.
            last_run: the one behind the last.
            head_ends: where the text before each transaction ends, int64.
            heads: these texts.
            foot: the text behind each.

        Raises:
            ValueError: there are fewer texts than transactions.
        """

    def step(self) -> int:
        """Write on; a :class:`~binx.kernels.render.rowparts.State`."""

    def taken(self) -> bytes:
        """The piece of text written since it was asked for last."""

    def asked(self) -> tuple[Callable[[int], Iterator[bytes]], int]:
        """Whom to ask for the value at hand, and the row in the column."""

    def go_on(self, size: int) -> None:
        """Go on behind the value that was asked for, of so many bytes."""
