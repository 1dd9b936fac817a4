"""An archive of binary logs that proves itself: one commit a log, nothing believed that cannot be shown."""

from __future__ import annotations
