"""Lines of text about many things alike: what all sorts of them share."""

class LineBuffer:
    """Lines that are being written; kernels derive what writes some sort of lines."""
