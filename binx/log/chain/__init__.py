"""From what a user names to the logs of a chain, in their order."""
