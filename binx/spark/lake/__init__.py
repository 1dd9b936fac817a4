"""The loader: from the files listed in manifests to ``history/``, ``current/`` and ``scd2/`` of each table.

``model`` has the shared types. ``timeline`` follows tables and columns through schema statements (lives and
epochs), ``plan`` compares the result with what is loaded, ``job`` runs the plan on Spark. ``history``,
``sources`` and ``merge`` hold the code of tasks, ``arrow/`` their operations on Arrow tables.
"""
