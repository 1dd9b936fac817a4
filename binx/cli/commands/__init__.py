"""The commands, one per module, loaded when they are called."""
