"""Parquet files written by binx itself: schema, pages, footer.

Source: the Apache Parquet format, parquet.thrift of 2.11 and the documents beside it.
"""
