"""Lengths of SQL statements, and the limits of clients and servers."""

from __future__ import annotations

from binx.slices.rendering import PACKET_BYTES

LARGEST_PACKET_BYTES = 1024 * 1024 * 1024
"""Maximum of ``max_allowed_packet`` in clients and servers."""

STATEMENT_BYTES = 1024 * 1024
"""Default maximum bytes of a statement that inserts several rows."""

_LONGEST_CHARACTER = 4
"""Maximum bytes of a character in UTF-8."""


class StatementSizes:
    """The lengths of statements, both those written for row changes and those logged as text."""

    def __init__(self, statement_bytes: int = STATEMENT_BYTES) -> None:
        self.statement_bytes = statement_bytes
        self._long = 0
        self._longest = 0

    def take(self, long_texts: int, longest: int) -> None:
        """Count statements."""
        self._long += long_texts
        self._longest = max(self._longest, longest)

    def take_text(self, sql: str) -> None:
        """Measure a statement that is logged as text."""
        if len(sql) * _LONGEST_CHARACTER > PACKET_BYTES:
            length = len(sql.encode("utf-8", "surrogatepass"))
            self.take(int(length > PACKET_BYTES), length)

    @property
    def warnings(self) -> list[str]:
        """Warnings for those who run the script."""
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
