"""binx.cli."""
