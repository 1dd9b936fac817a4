"""Decode row images: layouts of table maps, and values into Arrow buffers."""
