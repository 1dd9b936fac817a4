"""Select transactions by GTID, time, position and table."""
