"""Copy events into a new log, and inspect single rows events."""
