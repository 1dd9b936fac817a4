"""A live server's binary logs on this machine's disk: proved, durable, resumable."""
