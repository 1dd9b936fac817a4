"""What must be fast per event or per value: compiled modules, which run without Python's lock."""

import os
from importlib.machinery import EXTENSION_SUFFIXES

_FOLDER = os.path.dirname(__file__)


def _uncompiled() -> list[str]:
    """Return the sources without a compiled module beside them."""
    found = []
    for folder, _, names in os.walk(_FOLDER):
        beside = set(names)
        stems = [name.removesuffix(".pyx") for name in names if name.endswith(".pyx")]
        found += [
            os.path.join(folder, f"{stem}.pyx")
            for stem in stems
            if beside.isdisjoint(stem + suffix for suffix in EXTENSION_SUFFIXES)
        ]
    return found


if missing := _uncompiled():
    # In the folder of a checkout, Python finds the sources before the installed package.
    raise ImportError(
        f"expected a compiled module beside {min(missing)}, found none: run Python in another folder than"
        " that of the checkout, or compile there (pip install --editable .)"
    )
