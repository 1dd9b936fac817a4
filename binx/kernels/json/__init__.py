"""MySQL's binary JSON: documents, paths and partial updates."""
