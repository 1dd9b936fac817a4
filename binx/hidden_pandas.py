"""Commands do without pandas, even where it is installed.

pyarrow imports pandas, if it can, with the first value that it converts (``pandas-shim.pxi``). That takes as
long as a short command, which needs nothing of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _PandasHider:
    """A finder on ``sys.meta_path`` that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("binx has hidden pandas", name=name)


def hide_pandas() -> None:
    """Have imports of pandas fail in this process; only for processes that are a command of binx."""
    sys.meta_path.insert(0, _PandasHider)


def restore_pandas() -> None:
    """Let pandas be imported again, for Spark, which needs it."""
    if _PandasHider in sys.meta_path:
        sys.meta_path.remove(_PandasHider)
