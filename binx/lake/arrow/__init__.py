"""A task's operations on Arrow tables: row images, and the states they lead to.

``types`` (of columns), ``keys`` (order and ranges), ``images`` (from files and back), ``replay`` (the last
image of each key), ``conversions`` with ``rules`` and ``times`` (how ALTER TABLE converts values).
"""
