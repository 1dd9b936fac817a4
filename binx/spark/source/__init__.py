"""Spark data sources for binary logs and for data sets: the formats ``binlog`` and ``binx``."""
