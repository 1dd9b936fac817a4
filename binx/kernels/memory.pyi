"""Kernel memory that Python, and through it Arrow, takes over without a copy."""

class Memory:
    """Bytes taken over from a kernel's buffer; given back when the last view of them goes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
