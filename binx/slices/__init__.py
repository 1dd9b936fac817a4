"""What ``extract`` makes of transactions: binary logs, SQL, JSON, THL."""
