"""binx.stats."""
