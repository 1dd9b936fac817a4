"""The loader: from the files listed in manifests to ``history/``, ``current/`` and ``scd2/`` of each table.

``dataset/`` reads what data sets contain, ``arrivals/`` what of it is new. ``tables/`` follows tables and
columns through schema statements, ``plan`` compares the result with what ``state/`` records as loaded,
``job/`` runs the plan on Spark, with ``arrow/`` for the rows of a task, and ``published/`` writes what other
programs read.
"""
