"""The table of transactions that a walk fills, and what is asked of it."""
