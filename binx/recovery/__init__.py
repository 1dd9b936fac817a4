"""From a backup to a moment: what logs must be replayed, whether they are there, and how."""
