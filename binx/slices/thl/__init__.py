"""``extract --format thl``: transactions as Tungsten Replicator lists them."""
