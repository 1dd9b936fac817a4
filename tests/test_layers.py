"""The layers of the house: each imports only those before it, and the library imports no click."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "binx"

LAYERS = (
    "errors",
    "kernels",
    "source",
    "event",
    "storage",
    "log",
    "rows",
    "where",
    "slices",
    "dataset",
    "base",
    "inspect",
    "compare",
    "recovery",
    "stats",
    "verify",
    "archive",
    "spark",
    "pull",
    "api",
    "cli",
)
"""From the ground up. ``kernels`` stand on ``errors`` alone; ``stats`` to ``api`` are neighbours."""

NEIGHBOURS = {
    "dataset": {"slices"},
    "base": {"where", "slices"},
    "inspect": {"dataset", "base"},
    "compare": {"dataset", "base"},
    "recovery": {"rows", "where", "slices", "dataset", "base", "inspect", "compare"},
    "stats": {"base", "verify", "archive", "spark", "api"},
    "verify": {"base", "stats"},
    "archive": {"base", "stats"},
    "spark": {"base", "stats", "verify", "archive"},
    "pull": {"slices", "dataset", "base", "inspect", "compare", "stats", "verify", "archive", "spark"},
    "api": {"stats", "verify", "archive", "spark", "pull"},
}

SHARED = {"version"}
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


def python_imports(path: Path) -> Iterator[str]:
    """The layers that a Python module imports anywhere, also within functions and for types."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("binx."))
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            parts = node.module.split(".")
            if parts[0] == "binx":
                yield from parts[1:2] or (name.name for name in node.names)


def modules() -> list[Path]:
    found = [path for suffix in ("py", "pyx", "pxd", "pyi") for path in PACKAGE.rglob(f"*.{suffix}")]
    return sorted(path for path in found if layer_of(path) not in FREE)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_layers_before_its_own(path: Path) -> None:
    layer = layer_of(path)
    if path.suffix in (".pyx", ".pxd"):
        imported = {match[1] for match in IMPORT.finditer(path.read_text("utf-8")) if match[1]}
    else:
        imported = set(python_imports(path))
    allowed = set(LAYERS[: LAYERS.index(layer) + 1]) - NEIGHBOURS.get(layer, set())
    if layer == "kernels":
        allowed = {"errors", "kernels"}
    assert imported - SHARED <= allowed


def name_of(path: Path) -> str:
    """A module's name; of a kernel, the declarations (.pxd) and the code (.pyx) count apart."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    return name + path.suffix if path.suffix in (".pxd", ".pyx") else name


def imported_modules(path: Path, known: Collection[str]) -> Iterator[str]:
    """The modules that a file imports anywhere, also within functions and for types."""
    if path.suffix in (".pxd", ".pyx"):
        yield from (f"{module}.pxd" for module in CIMPORT.findall(path.read_text("utf-8")))
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield full if full in known else node.module


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


@pytest.mark.parametrize(
    "path", [path for path in modules() if path.suffix == ".py" and layer_of(path) != "cli"]
)
def test_the_library_does_not_know_click(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.split(".")[0] == "click" for name in names)


def test_every_layer_has_tests_of_its_own_name() -> None:
    tests = Path(__file__).resolve().parent
    for layer in LAYERS:
        if (PACKAGE / layer).is_dir():
            assert any((tests / layer).glob("test_*.py")), layer


def test_every_kernel_is_built() -> None:
    with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
        built = tomllib.load(file)["tool"]["setuptools"]["ext-modules"]
    kernels = {str(path.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.pyx")}
    assert {source for module in built for source in module["sources"]} == kernels
    assert all(module["sources"] == [module["name"].replace(".", "/") + ".pyx"] for module in built)
