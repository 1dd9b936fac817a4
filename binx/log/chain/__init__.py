"""Find the logs that a user names, and bring them into chain order."""
