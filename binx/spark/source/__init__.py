"""Spark data source for binary logs: ``spark.read.format("binlog")``."""
