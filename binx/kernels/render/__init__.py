"""Row changes, transactions and events as text."""
