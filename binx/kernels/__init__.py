"""What must be fast per event or per value: compiled modules, which run without Python's lock."""

import os
from importlib.machinery import EXTENSION_SUFFIXES

_FOLDER = os.path.dirname(__file__)

if not any(os.path.exists(os.path.join(_FOLDER, f"crc32{suffix}")) for suffix in EXTENSION_SUFFIXES):
    # In the folder of a checkout, Python finds the sources before the installed package.
    raise ImportError(
        f"expected compiled modules in {_FOLDER}, found binx's sources alone: run Python in another folder"
        " than that of the checkout, or compile there (pip install --editable .)"
    )
