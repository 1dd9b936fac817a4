"""A task's own work: row images as Arrow tables, and the states that they lead to.

``types`` (of columns), ``keys`` (order and ranges), ``images`` (from files and back), ``replay`` (the last
image of each key), ``conversions`` with ``rules`` and ``times`` (what ALTER TABLE makes of values).
"""
