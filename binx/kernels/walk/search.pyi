"""What is passed over: transactions that have none of the GTIDs looked for, and what stands behind damage."""

from binx.kernels.walk.jump import JumpingWalk

class SearchingWalk(JumpingWalk):
    """A walk that may be told what is looked for.

    Attributes:
        is_seeking: whether the beginning of a transaction is still looked for, see :meth:`seek`.
        resumed: where it was found; -1 where it was not.
        ends_passed: ends of transactions that were passed over whenever one was looked for.
        passed: transactions that were left out, see :meth:`pass_rows`.
    """

    is_seeking: bool
    resumed: int
    ends_passed: int
    passed: int

    def search(self, intervals: dict[bytes, bytes]) -> None:
        """Look for GTIDs alone: at ``LEVEL_INDEX`` transactions that have none of them may be left out.

        They are passed over by their length, or header by header, where the next transaction's GTID event
        follows in its place; whatever is less sure than that is walked.

        Args:
            intervals: by source's key, its intervals: pairs of unsigned 64-bit integers, first and last.

        Raises:
            ValueError: the walk has begun.
        """

    def pass_rows(self) -> None:
        """Leave transactions out of the tables that have rows and nothing else, and count them in ``passed``.

        They are walked over header by header, where each header tells that its event stands where it does.
        What would be illegal in such a transaction is not found. To be called before the walk begins, at
        ``LEVEL_EVENTS``.
        """

    def seek(self, position: int, named: bool) -> None:
        """Give up the transaction at hand, and look for the beginning of another from an event on.

        Args:
            position: where the event stands.
            named: whether each transaction begins with a GTID event.
        """
