"""Logs as sequences of transactions: where these begin and end, which are chosen, how logs make a chain."""
