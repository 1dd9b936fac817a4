"""The layers of the house: each imports only those before it, no click, and nothing that connects."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "binx"

LAYERS = (
    "errors",
    "kernels",
    "source",
    "event",
    "storage",
    "log",
    "report",
    "rows",
    "where",
    "sql",
    "slices",
    "dataset",
    "lake",
    "undo",
    "inspect",
    "compare",
    "stats",
    "verify",
    "archive",
    "recovery",
    "pull",
    "serve",
    "spark",
    "api",
    "cli",
)
"""From the ground up. ``kernels`` stand on ``errors`` alone."""

_MADE_OF_LOGS = set(LAYERS[LAYERS.index("sql") : LAYERS.index("recovery")])

NEIGHBOURS = {
    "sql": {"where"},
    "dataset": {"slices"},
    "inspect": {"dataset", "lake", "undo"},
    "compare": {"dataset", "lake", "undo"},
    "stats": {"lake", "undo"},
    "verify": {"lake", "undo", "stats"},
    "archive": {"lake", "undo", "stats"},
    "recovery": {"rows", "where", *_MADE_OF_LOGS},
    "pull": {*_MADE_OF_LOGS, "recovery"},
    "serve": _MADE_OF_LOGS,
    "spark": {"undo", "stats", "verify", "archive", "recovery", "pull", "serve"},
    "api": {"archive", "pull", "serve", "spark"},
}

SHARED = {"version", "hidden_pandas"}
"""Modules that any layer may import."""

FREE = {"__init__", "__main__", *SHARED}
"""Modules of the package itself: its front and its start."""

FILES_MAXIMUM = 25
"""Files in a folder, without its ``__init__.py``."""

CIMPORT = re.compile(r"^\s*from\s+(binx[.\w]*)\s+cimport", re.MULTILINE)

IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+binx(?:\.(\w+))?", re.MULTILINE)


def layer_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports_of(path: Path) -> list[tuple[str, list[str]]]:
    """What a Python module imports anywhere, also within functions and for types: a module, names of it."""
    found: list[tuple[str, list[str]]] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(name.name, []) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.append((node.module, [name.name for name in node.names]))
    return found


def layers_of(path: Path) -> set[str]:
    """The layers that a module imports."""
    if path.suffix in (".pyx", ".pxd"):
        return {match[1] for match in IMPORT.finditer(path.read_text("utf-8")) if match[1]}
    own = [(module.split("."), names) for module, names in imports_of(path)]
    return {
        layer for parts, names in own if parts[0] == "binx" for layer in (parts[1:2] or names)
    }  # fmt: skip


def modules() -> list[Path]:
    found = [path for suffix in ("py", "pyx", "pxd", "pyi") for path in PACKAGE.rglob(f"*.{suffix}")]
    return sorted(path for path in found if layer_of(path) not in FREE)


def test_a_module_imports_only_layers_before_its_own() -> None:
    wrong = {}
    for path in modules():
        layer = layer_of(path)
        allowed = set(LAYERS[: LAYERS.index(layer) + 1]) - NEIGHBOURS.get(layer, set())
        if layer == "kernels":
            allowed = {"errors", "kernels"}
        wrong[str(path)] = layers_of(path) - SHARED - allowed
    assert {path: layers for path, layers in wrong.items() if layers} == {}


def name_of(path: Path) -> str:
    """A module's name; of a kernel, the declarations (.pxd) and the code (.pyx) count apart."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    return name + path.suffix if path.suffix in (".pxd", ".pyx") else name


def imported_modules(path: Path, known: Collection[str]) -> Iterator[str]:
    """The modules that a file imports anywhere, also within functions and for types."""
    if path.suffix in (".pxd", ".pyx"):
        yield from (f"{module}.pxd" for module in CIMPORT.findall(path.read_text("utf-8")))
        return
    for module, names in imports_of(path):
        for full in [f"{module}.{name}" for name in names] or [module]:
            yield full if full in known else module


def test_imports_have_no_circles() -> None:
    files = {
        name_of(path): path for suffix in ("py", "pyi", "pxd", "pyx") for path in PACKAGE.rglob(f"*.{suffix}")
    }
    imports = {name: {*imported_modules(path, files)} & files.keys() - {name} for name, path in files.items()}
    TopologicalSorter(imports).prepare()  # Its error names a circle.


def test_a_folder_has_few_files() -> None:
    tests = Path(__file__).resolve().parent.rglob("*.py")
    files = Counter(path.parent for path in (*modules(), *tests) if path.stem not in FREE)
    assert {str(folder): count for folder, count in files.items() if count > FILES_MAXIMUM} == {}


def test_the_library_does_not_know_click() -> None:
    library = [path for path in modules() if path.suffix == ".py" and layer_of(path) != "cli"]
    assert [
        path for path in library for module, _ in imports_of(path) if module.split(".")[0] == "click"
    ] == []


def test_tables_need_no_spark() -> None:
    lake = [path for path in modules() if layer_of(path) == "lake"]
    assert [
        path for path in lake for module, _ in imports_of(path) if module.split(".")[0] == "pyspark"
    ] == []


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
    for module, names in imports_of(path):
        if module == "urllib.request" or (module == "urllib" and "request" in names):
            yield "urllib.request"
        elif module.split(".")[0] in NETWORK:
            # The names of `from socket import`, or those that `import socket` is asked for.
            used = names or (attributes_of(path, module) if module == "socket" else [module])
            yield from set(used) - HARMLESS


def attributes_of(path: Path, name: str) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            yield node.attr


def test_one_room_opens_connections_one_takes_them_and_no_other() -> None:
    """All else opens none but to the stores that a command line names."""
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if any(connecting(path))}
    pull = {"pull/guarded.py", "pull/packets.py", "pull/connection.py"}
    assert found == pull | {"serve/channel.py", "serve/login.py", "serve/service.py"}


def test_every_layer_has_tests_of_its_own_name() -> None:
    tests = Path(__file__).resolve().parent
    for layer in LAYERS:
        if (PACKAGE / layer).is_dir():
            assert any((tests / layer).glob("test_*.py")), layer
