"""The options of commands that start Spark."""

from __future__ import annotations

import sys

from binx.cli.declaration import Parsed, combined, option
from binx.errors import UsageError

SPARK = "Spark"


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"expected NAME=VALUE, found {text!r}")
    return name, value


MASTER = option(
    "--master", metavar="URL", section=SPARK, help="Spark master URL.  [default: all cores of this machine]"
)
DRIVER_MEMORY = option(
    "--driver-memory", metavar="SIZE", section=SPARK, help="Memory of the Spark driver, such as 4g."
)
SETTINGS = option(
    "--conf",
    name="settings",
    metavar="NAME=VALUE",
    multiple=True,
    value=Parsed("setting", _setting),
    section=SPARK,
    help="Any Spark setting; may be repeated.",
)
SPARK_OPTIONS = combined(MASTER, DRIVER_MEMORY, SETTINGS)
"""Where Spark runs, and how: ``master``, ``driver_memory`` and ``settings``."""


def allow_numpy() -> None:
    """Let numpy be loaded, which the process's beginning keeps out; before pyarrow is, to be of use."""
    if sys.modules.get("numpy", sys) is None:
        del sys.modules["numpy"]
