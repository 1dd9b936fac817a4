"""The loader behind ``load.py``: from manifests to tables, with pyspark and the standard library alone.

The modules, in the order of their imports: ``outcome`` (errors), ``storage`` (files and the lock),
``manifests`` (what exports say they hold), ``chains`` (servers and their order), ``ddl`` (what statements
do to tables), ``lineage`` (which table and column a value belongs to), ``plan`` (what a run takes),
``fields`` (types), ``images`` (row images as DataFrames), ``state`` (the last image of each key), ``scd2``
(every version of each key), ``output`` (the commit), ``summary``, ``arguments``, ``table`` and ``run``.
They import each other relatively, so that the package works as ``binx.spark.loading`` and, beside a script
that ``spark-submit`` starts, as ``loading``.
"""
