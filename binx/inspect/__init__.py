"""Human-readable views of transactions and of row histories."""
