"""The loaded state: what was read, and which files count."""
