"""binx.export."""
