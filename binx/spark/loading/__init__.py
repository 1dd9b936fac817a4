"""The loader behind ``load.py``: from manifests to tables, with pyspark and the standard library alone.

The modules, in the order of their imports: ``outcome`` (errors), ``storage`` and ``hadoop`` (files and the
lock), ``manifests`` (what exports say they hold), ``chains`` (servers and their order), ``ddl`` (what DDL
does to tables), ``lineage`` (which table and column a value belongs to), ``plan`` (what a run takes),
``fields`` and ``schemas`` (types), ``names``, ``steady`` (whether keys moved), ``images`` (row images as
DataFrames), ``events`` (those of a table as it is now), ``state`` (the last image of each key), ``scd2``
(every version of each key), ``records`` and ``output`` (what is committed, and how), ``statements``,
``context``, ``delta`` and ``iceberg`` (tables of other formats), ``arrow_types``, ``keys``, ``runs``,
``ranges``, ``parquet_files``, ``days``, ``merge``, ``shipped``, ``arrow`` and ``ranged`` (history and state
without Spark's readers and writers, where pyarrow happens to be there), ``history``, ``eras``,
``snapshots`` (a table's steps), ``parallel`` (tables side by side), ``job`` (all steps), ``arguments``,
``summary`` and ``run`` (the command). They import each other relatively, so that the package works as
``binx.spark.loading`` and, beside a script that ``spark-submit`` starts, as ``loading``.
"""
