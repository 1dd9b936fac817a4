"""binx.rows."""
