"""A random workload for a real server, wholly decided by a seed."""
