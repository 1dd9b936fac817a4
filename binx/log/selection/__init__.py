"""Which transactions a user wants: by GTID, time, place and table."""
