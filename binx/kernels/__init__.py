"""binx.kernels."""
