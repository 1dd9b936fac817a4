"""The transaction index: one row a transaction, in memory and in the file beside a log."""
