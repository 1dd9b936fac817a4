"""``binx load`` as the script for ``spark-submit``, which configures where and how Spark runs.

The Python of the driver and of the executors must have binx; see docs/spark-cluster.md. ``--help`` lists the
options.

    spark-submit "$(binx spark-script)" --input DIR --output OUT
"""

from __future__ import annotations

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":
    # Modules must not be imported from the script's folder.
    sys.path[:] = [
        path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent
    ]
    if find_spec("binx") is None:
        sys.exit(
            f"error: binx is not installed for {sys.executable}: set PYSPARK_DRIVER_PYTHON to one that has it"
        )
    sys.argv[:] = ["binx", "load", *sys.argv[1:]]
    runpy.run_module("binx", run_name="__main__", alter_sys=True)
