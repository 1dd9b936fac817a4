"""The transaction table that a walk fills, with selections and sums over it."""
