"""A client that stays connected, so that a statement can be chosen by what those before it have led to."""

from __future__ import annotations

import subprocess
from types import TracebackType
from typing import Self

from testdata.servers import GONE, Server, ServerError

_END = "-- what was asked is answered --"


class Connection:
    """One session of a server."""

    def __init__(self, server: Server) -> None:
        options = ["--batch", "--raw", "--skip-column-names", "--comments", "--force", "--unbuffered"]
        self._process = subprocess.Popen(
            [*server.client_command(), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, sql: str | bytes) -> list[str]:
        """What the client prints of statements without a ``;`` at their end; errors are lines too."""
        text = sql.encode() if isinstance(sql, str) else sql
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(text + f";\nSELECT '{_END}';\n".encode())
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            said = line.decode(errors="replace").rstrip("\n")
            if said == _END:
                return lines
            lines.append(said)
            if said.startswith(tuple(f"ERROR {number} " for number in GONE)):
                break
        raise ServerError("\n".join(lines[-5:]) or "the client has ended")

    def __enter__(self) -> Self:
        """Use the session."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
