"""Events copied into a new log, and rows events looked at one by one."""
