"""A verifiable archive of binary logs: one commit per log, every object checked by its hash."""

from __future__ import annotations
