"""Global transaction identifiers: the events that carry them, and sets of them."""
