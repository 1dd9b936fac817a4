"""Statistics and listings of logs, for people and for programs."""
