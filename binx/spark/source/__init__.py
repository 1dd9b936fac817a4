"""Binary logs as a data source of Spark: ``spark.read.format("binlog")``."""
