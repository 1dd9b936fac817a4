"""Kernel memory handed over to Python and Arrow without a copy."""

class Memory:
    """Bytes taken over from a kernel's buffer; given back when the last view of them goes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...

def keep_freed_memory() -> None:
    """Have the process keep memory that was given back, as the system would clear it for the next batch."""
