"""Row images decoded straight into Arrow's buffers."""

from binx.kernels.rows.buffers import RowBuffers

class RowBuilder(RowBuffers):
    """The columns of one table, being filled image by image."""
