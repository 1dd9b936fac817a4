"""Paths into JSON documents; for other kernels alone."""
