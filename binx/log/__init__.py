"""binx.log."""
