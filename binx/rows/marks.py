"""Marks that say what a decoder is to do with each transaction of a table; 0: to pass over it."""

from __future__ import annotations

TAKE = 1
"""Mark of a transaction whose rows and statements are wanted."""

STATEMENTS_ONLY = 2
"""Mark of a transaction that is looked at only for schema statements."""

WITHOUT_ROWS = 3
"""Mark of a transaction whose statements are wanted, and whose rows are not: they were rolled back."""

LOST = 4
"""Mark of a transaction that was wanted and cannot be decoded; it is never given to a decoder."""

__all__ = ["LOST", "STATEMENTS_ONLY", "TAKE", "WITHOUT_ROWS"]
