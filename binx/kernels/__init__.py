"""Loops over many events, rows or values, compiled, without the interpreter's lock."""
