"""The order of row changes of several tables; for other kernels alone."""
