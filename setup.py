"""The kernels, one for each ``.pyx``; everything else is in ``pyproject.toml``."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# What Cython adds wherever memory is viewed is most of a small kernel: it is compiled once, by itself.
VIEWS = Extension("binx.kernels.views", ["binx/kernels/views.c"], extra_compile_args=["-O3", "-g0"])


def kernel(source: Path) -> Extension:
    """What is compiled of a source, which names its language where that is not C."""
    plus = "\n# distutils: language = c++\n" in source.read_text("utf-8")
    return Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        extra_compile_args=["-O3", "-g0", *(["-std=c++17"] if plus else [])],
        extra_link_args=["-static-libstdc++"] if plus else [],
    )


setup(
    ext_modules=cythonize(
        [VIEWS, *map(kernel, sorted(Path("binx/kernels").rglob("*.pyx")))],
        nthreads=os.cpu_count(),
        shared_utility_qualified_name=VIEWS.name,
    )
)
