"""What other programs read: views, Delta's logs, and tables of a catalog."""
