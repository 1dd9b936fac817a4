"""JSON documents in MySQL's binary form, paths into them, and differences."""
