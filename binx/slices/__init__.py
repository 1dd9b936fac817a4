"""The output formats of ``extract``: binary log, SQL, JSON, THL."""
