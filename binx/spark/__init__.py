"""binx.spark."""
