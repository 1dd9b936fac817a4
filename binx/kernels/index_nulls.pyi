"""What the transaction index does not know of a transaction: values that are null."""

WITH_NULLS: dict[str, int]
"""By column of the index that can be null, the number of what a transaction is without then."""
