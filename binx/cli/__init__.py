"""The command line: what is asked for is read, handed to the library, and what it gives is shown."""
