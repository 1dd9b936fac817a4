"""A log's events walked through: framing, boundaries, transactions by their length, search, damage."""
