"""Measures binx beside ``mysqlbinlog``, ``mariadb-binlog``, pyarrow and ``cat``: ``python -m bench``."""
