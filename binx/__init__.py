"""binx."""
