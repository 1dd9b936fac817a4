"""Jumps from GTID event to GTID event, where the transaction's length is written there and can be trusted."""

from binx.kernels.walk.machine import TransactionMachine

class JumpingWalk(TransactionMachine):
    """A place in a file, and the transactions behind it that can be taken by their length.

    Attributes:
        position: offset of the next event.
    """

    @property
    def position(self) -> int: ...
