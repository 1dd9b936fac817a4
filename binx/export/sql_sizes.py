"""How long the statements of a script are, against what clients and servers take by default."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PACKET_BYTES = 16 * 1024 * 1024
"""``max_allowed_packet`` of the clients ``mysql`` and ``mariadb``, and of MariaDB's server; that of MySQL's
server is 64 MiB since 8.0. Sources: the manuals of both, on the system variable and the clients' options."""

LARGEST_PACKET_BYTES = 1024 * 1024 * 1024
"""What it can be set to at most, in the clients and in the servers."""


class StatementSizes:
    """Measures the statements of row changes; each is about one row, so none is longer than its row needs."""

    def __init__(self) -> None:
        self._long = 0
        self._longest = 0

    def take(self, texts: pa.Array) -> None:
        """Measure some statements, one element each."""
        if texts.nbytes <= PACKET_BYTES:
            return
        # Typing knows these functions only by the names that pyarrow makes when it is loaded.
        compute: Any = pc
        lengths = compute.binary_length(texts)
        self._long += compute.sum(compute.greater(lengths, PACKET_BYTES)).as_py() or 0
        self._longest = max(self._longest, compute.max(lengths).as_py() or 0)

    @property
    def warnings(self) -> list[str]:
        """What whoever runs the script must know, in sentences."""
        if not self._long:
            return []
        which = "1 statement is" if self._long == 1 else f"{self._long:,} statements are"
        text = f"{which} longer than the {PACKET_BYTES:,} bytes that clients take by default, the longest"
        if self._longest > LARGEST_PACKET_BYTES:
            return [f"{text} {self._longest:,}; no server takes that, so take --format binlog"]
        return [
            f"{text} {self._longest:,}: run the script by a client with --max-allowed-packet={self._longest},"
            " on a server whose max_allowed_packet is no less"
        ]


__all__ = ["LARGEST_PACKET_BYTES", "PACKET_BYTES", "StatementSizes"]
