"""One room connects to servers; all else opens no connection but to the stores that a command line names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "binx"

NETWORK = {
    "asyncio",
    "ftplib",
    "http",
    "pymysql",
    "requests",
    "smtplib",
    "socket",
    "socketserver",
    "ssl",
    "urllib3",
}
"""What opens connections, or listens for them."""

HARMLESS = {"AF_INET", "AF_INET6", "inet_ntop", "gethostname"}
"""What the socket module has besides."""


def connecting(path: Path) -> Iterator[str]:
    """What a module uses of :data:`NETWORK`."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in NETWORK:
            yield from (name.name for name in node.names if name.name not in HARMLESS)
        elif isinstance(node, ast.ImportFrom) and node.module == "urllib":
            yield from (name.name for name in node.names if name.name == "request")
        elif isinstance(node, ast.Import):
            names = {name.name.split(".")[0] for name in node.names} & NETWORK
            used = {
                found.attr
                for found in ast.walk(tree)
                if isinstance(found, ast.Attribute)
                and isinstance(found.value, ast.Name)
                and found.value.id in names
            }
            yield from used - HARMLESS if names == {"socket"} else names
            yield from (name.name for name in node.names if name.name == "urllib.request")


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "pull"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_no_other_room_opens_a_connection(path: Path) -> None:
    assert not list(connecting(path))


def test_the_one_room_is_found() -> None:
    assert {path.name for path in (PACKAGE / "pull").glob("*.py") if list(connecting(path))} == {
        "packets.py",
        "server.py",
    }
