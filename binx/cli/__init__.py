"""The command line: parse arguments, call the library, and print results."""
