"""Import backups into a data set as bases: the rows before the logs, or a server's whole state."""
