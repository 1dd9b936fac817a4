"""Local folders and object stores; objects appear complete under their final name, or not at all."""
