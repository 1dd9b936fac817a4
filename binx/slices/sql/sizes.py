"""How long the statements of a script are, against what clients and servers take by default."""

from __future__ import annotations

PACKET_BYTES = 16 * 1024 * 1024
"""``max_allowed_packet`` of the clients ``mysql`` and ``mariadb``, and of MariaDB's server; that of MySQL's
server is 64 MiB since 8.0. Sources: the manuals of both, on the system variable and the clients' options."""

LARGEST_PACKET_BYTES = 1024 * 1024 * 1024
"""What it can be set to at most, in the clients and in the servers."""

_LONGEST_CHARACTER = 4
"""Bytes of UTF-8."""


STATEMENT_BYTES = 1024 * 1024
"""Bytes up to which a statement inserts several rows, unless told otherwise."""


class StatementSizes:
    """How long statements become: those of row changes, and those that the log has as text."""

    def __init__(self, statement_bytes: int = STATEMENT_BYTES) -> None:
        self.statement_bytes = statement_bytes
        self._long = 0
        self._longest = 0

    @property
    def packet(self) -> int:
        """Bytes beyond which a statement counts as long."""
        return PACKET_BYTES

    def take(self, long_texts: int, longest: int) -> None:
        """Count some statements."""
        self._long += long_texts
        self._longest = max(self._longest, longest)

    def take_text(self, sql: str) -> None:
        """Measure a statement that is in the log as text."""
        if len(sql) * _LONGEST_CHARACTER <= PACKET_BYTES:
            return
        length = len(sql.encode("utf-8", "surrogatepass"))
        if length > PACKET_BYTES:
            self.take(1, length)

    @property
    def warnings(self) -> list[str]:
        """What whoever runs the script must know, in sentences."""
        if not self._long:
            return []
        which = "1 statement is" if self._long == 1 else f"{self._long:,} statements are"
        text = f"{which} longer than the {PACKET_BYTES:,} bytes that clients accept by default, the longest"
        if self._longest > LARGEST_PACKET_BYTES:
            return [f"{text} {self._longest:,}; no server accepts that, so use --format binlog"]
        return [
            f"{text} {self._longest:,}: run the script with --max-allowed-packet={self._longest}, on a"
            " server whose max_allowed_packet is at least as large"
        ]
