"""Tables from data sets and backups, with pyarrow: their rows of now and of any moment, and their history.

``base/`` adds a backup's rows to a data set; ``dataset/`` reads what data sets contain, ``arrivals/`` what
of it is new. ``tables/`` follows tables and columns through schema statements, ``plan`` compares the result
with what ``state/`` records as loaded, ``tasks/`` does a share of the work that :mod:`binx.spark.job`
distributes, with ``arrow/`` for its rows, and ``published/`` writes what other programs read.
"""
