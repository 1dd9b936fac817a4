"""Plan point-in-time recovery: which logs to replay over a backup, which are missing, and the commands."""
