"""The loader's fixtures, for tests of what is written beside the tables."""

from tests.lake.conftest import load, loaded, rows

__all__ = ["load", "loaded", "rows"]
