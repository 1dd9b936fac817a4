"""A backup's rows as a part of a data set: what tables held before the logs, or a server's whole state."""
