"""What a table's columns are called, which types they have, and their values as Arrow arrays."""
