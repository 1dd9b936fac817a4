"""Logs as sequences of transactions: boundaries, selection, and the order of logs in a chain."""
