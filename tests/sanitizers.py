"""A copy of binx whose kernels are built with sanitizers, in a folder to be put on ``PYTHONPATH``.

``python -m tests.sanitizers build/asan`` builds with the C compiler at hand; with ``--fuzzer`` clang also
counts edges, for coverage-guided fuzzing. What is up to date is not built again. The address sanitizer must
be in the process before Python is: ``LD_PRELOAD`` names the library that the last line of output tells.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
_CHECKS = "address,undefined"

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
"""Whether this process has the address sanitizer, with an allocator and a great deal of memory of its own."""

_AT_ONCE = 4
"""Compilers that run side by side: an instrumented kernel takes hundreds of megabytes of them."""
_FLAGS = [
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fPIC", "-shared", "-fwrapv"),
    # Cython's own code relies on these two: it calls functions through casts, and adds 0 to null pointers.
    *("-fno-sanitize=function", "-fno-sanitize=alignment"),
]


def build(folder: Path, *, fuzzer: bool) -> str:
    """Bring the copy up to date; returns the libraries to preload."""
    package = folder.resolve() / "binx"
    _remove_what_is_gone(package)
    shutil.copytree(
        ROOT / "binx",
        package,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.so", "*.c", "*.cpp", "__pycache__"),
    )
    kernels = package / "kernels"
    newest = max(path.stat().st_mtime for path in kernels.rglob("*.pxd"))
    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as threads:
        compiled = [
            threads.submit(_compile, source, fuzzer=fuzzer)
            for source in sorted(kernels.rglob("*.pyx"))
            if _is_stale(source, newest)
        ]
    for each in compiled:
        each.result()
    return _preloaded(fuzzer=fuzzer)


def _is_stale(source: Path, newest: float) -> bool:
    built = source.with_name(source.stem + _SUFFIX)
    return not built.exists() or built.stat().st_mtime < max(newest, source.stat().st_mtime)


def _remove_what_is_gone(package: Path) -> None:
    """Remove copies of modules that binx no longer has, and what was built of them."""
    for suffix in (".py", ".pyi", ".pyx", ".pxd"):
        for copy in package.rglob(f"*{suffix}"):
            if not (ROOT / "binx" / copy.relative_to(package)).exists():
                copy.unlink()
                if suffix == ".pyx":
                    copy.with_name(copy.stem + _SUFFIX).unlink(missing_ok=True)


def _compile(source: Path, *, fuzzer: bool) -> None:
    root = next(parent.parent for parent in source.parents if parent.name == "binx")
    print(f"building {source.relative_to(root)}", file=sys.stderr, flush=True)
    built = source.with_name(source.stem + _SUFFIX)
    plus = "\n# distutils: language = c++\n" in source.read_text("utf-8")
    code = source.with_suffix(".cpp" if plus else ".c")
    translated = ["--cplus"] if plus else []
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", *translated, source.relative_to(root), "-o", code],
        check=True,
        cwd=root,
    )
    compiler = ["clang"] if fuzzer else [os.environ.get("CC", "gcc")]
    standard = ["-std=c++17"] if plus else []
    checks = f"-fsanitize={_CHECKS},fuzzer-no-link" if fuzzer else f"-fsanitize={_CHECKS}"
    # They take some checks back, and so follow these.
    flags = _FLAGS if fuzzer else [flag for flag in _FLAGS if flag != "-fno-sanitize=function"]
    include = sysconfig.get_path("include")
    # A process may have the old one mapped.
    fresh = built.with_suffix(".new")
    subprocess.run([*compiler, *standard, checks, *flags, f"-I{include}", code, "-o", fresh], check=True)
    fresh.rename(built)


def _preloaded(*, fuzzer: bool) -> str:
    if fuzzer:
        import atheris

        return str(Path(atheris.path()) / "asan_with_fuzzer.so")
    # Exceptions of C++, which Arrow throws, need their library to be there when the sanitizer begins.
    return ":".join(map(_library, ("libasan.so", "libstdc++.so.6")))


def _library(name: str) -> str:
    compiler = os.environ.get("CC", "gcc")
    command = [compiler, f"-print-file-name={name}"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return str(Path(found).resolve())


def main() -> None:
    """Build, and print what to preload."""
    parser = argparse.ArgumentParser(prog="python -m tests.sanitizers", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fuzzer", action="store_true")
    arguments = parser.parse_args()
    print(build(arguments.folder, fuzzer=arguments.fuzzer))


if __name__ == "__main__":
    main()
