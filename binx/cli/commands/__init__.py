"""The commands, one a file, loaded when they are called."""
