"""What the logs of two servers have in common."""
