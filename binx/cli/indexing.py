"""The options that say whether the logs' index files are used."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from binx.cli.declaration import FilePath, combined, option
from binx.cli.terminal import say_warning
from binx.errors import BinxError
from binx.log.index_use import IndexUse

INDEX_DIR = option(
    "--index-dir",
    metavar="DIR",
    variable="BINX_INDEX_DIR",
    value=FilePath(),
    help="Folder of the index files.  [default: next to the logs]",
)

_INDEX_OPTIONS = combined(
    option("--no-index", is_flag=True, help="Ignore index files and read the logs."),
    INDEX_DIR,
)


def index_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options about index files; the function gets them as one ``index``, None for none.

    It must have an option ``quiet``.
    """

    @wraps(function)
    def with_index(no_index: bool, index_dir: str | None, **values: Any) -> Any:
        warn = None if values["quiet"] else _warn
        return function(index=None if no_index else IndexUse(index_dir, warn), **values)

    decorated: Callable[..., Any] = _INDEX_OPTIONS(with_index)
    return decorated


def _warn(error: BinxError) -> None:
    say_warning(str(error))
