"""What takes transactions back: SQL that checks itself, and reversed binary logs."""
