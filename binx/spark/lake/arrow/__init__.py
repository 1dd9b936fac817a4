"""A task's own work: row images as Arrow tables, and the states that they lead to.

``types`` (of columns), ``keys`` (order and ranges), ``images`` (from files and back), ``replay`` (the last
image of each key), ``json_documents``, ``conversions`` with ``sql_types``, ``rules`` and ``moments`` (what
ALTER TABLE makes of values).
"""
