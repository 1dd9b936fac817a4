"""The loader: from the files that manifests list to ``history/``, ``current/`` and ``scd2/`` of each table.

``model`` has what all share. ``timeline`` follows tables and columns through the statements (lives, epochs),
``plan`` compares that with what is loaded, ``job`` runs the plan on Spark; ``history``, ``sources`` and
``merge`` are what a task does, and ``arrow/`` is its work on Arrow tables.
"""
