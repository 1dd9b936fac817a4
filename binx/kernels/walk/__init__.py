"""Walk a log's events: framing, transaction boundaries, jumps by transaction length, search, damage."""
