"""These modules for tasks, which do not find them by themselves beside a script."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from threading import Lock

from pyspark import SparkContext

_PACKAGE = "binx."
_guard = Lock()
_shipped: set[str] = set()


def let_tasks_import(context: SparkContext) -> None:
    """Have the tasks of a session on this machine find this package, and run this very Python.

    The package is found as ``binx`` is installed, or else from a copy. Without the variable PYSPARK_PYTHON,
    tasks would run whatever ``python3`` is on PATH, which may lack pyarrow.
    """
    if "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    if __name__.startswith(_PACKAGE):
        return
    with _guard:
        if context.applicationId in _shipped:
            return
        # Tasks fetch the copy when they begin, so it stays until the end.
        folder = tempfile.mkdtemp(prefix="binx-load-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        package = Path(__file__).parent
        archive = shutil.make_archive(str(Path(folder, package.name)), "zip", package.parent, package.name)
        context.addPyFile(archive)
        _shipped.add(context.applicationId)
