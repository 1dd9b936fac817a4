"""The version of binx."""

__version__ = "0.1.0"
