"""The transaction index, one row per transaction, in memory and in the file next to a log."""
