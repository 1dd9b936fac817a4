"""Kernel memory that Python, and through it Arrow, takes over without a copy, and that comes back."""

def keep_freed() -> None:
    """Have memory that is freed stay with the process, where its C library can be told so.

    It serves what comes next; to get it from the system anew takes time. What the process had once it keeps.
    """

class Spare:
    """Pieces of memory that were given back, for whoever needs as much."""

    def __init__(self, limit: int) -> None:
        """Begin with none; ``limit`` is how many bytes are kept together."""

class Memory:
    """Bytes taken over from a kernel's buffer; given back when the last view of them goes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
