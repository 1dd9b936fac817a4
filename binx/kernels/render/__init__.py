"""Render row changes, transactions and events as text."""
