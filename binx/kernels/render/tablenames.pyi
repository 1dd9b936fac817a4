"""Texts about tables; for other kernels alone."""
