"""Data sets, loaded tables and archives in the contracts that released versions wrote.

``python -m testdata.contracts`` writes those of this version's contracts to ``testdata/contracts``:
``data-set-N`` has the shop's first two logs, ``tables-N`` what a load made of them (some tables, with the
versions of their rows; the others wait), ``archive-N`` a small log. What earlier versions wrote stays as it
is: later versions must read it, or migrate it by the next load. Run it when a contract's number is final.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from binx.archive.manifest import CONTRACT as ARCHIVE
from binx.dataset.manifest import CONTRACT as DATA_SET
from binx.lake.state.loaded_state import CONTRACT as TABLES

HERE = Path(__file__).resolve().parent
TARGET = HERE / "contracts"
SHOP = HERE / "mysql-9.7" / "shop"
LOG = HERE / "mysql-9.7" / "relay" / "source" / "mysql-bin.000001"
LOADED = ("shop.products", "shop.vouchers", "shop.visits", "shop.payments")
"""The tables that are loaded: with ALTER TABLE in the logs, and keys of several kinds."""

# States have the paths of data sets, so that these are the same wherever the recipe runs.
WORK = Path("/tmp/binx-contracts")


def main() -> int:
    """Run the recipe; returns the exit code."""
    shutil.rmtree(WORK, ignore_errors=True)
    made = {
        name: WORK / name
        for name in (f"data-set-{DATA_SET.number}", f"tables-{TABLES.number}", f"archive-{ARCHIVE.number}")
    }
    data_set, tables, archive = made.values()
    logs = [str(SHOP / f"mysql-bin.00000{number}") for number in (1, 2)]
    chosen = [word for table in LOADED for word in ("--table", table)]
    try:
        _binx("to-parquet", *logs, "-o", str(data_set))
        _binx("load", str(data_set), "-o", str(tables), "--scd2", "--accept-losses", *chosen)
        _binx("archive", str(LOG), "--to", str(archive))
        for folder in (data_set, tables, archive):
            if not (TARGET / folder.name).exists():
                shutil.copytree(folder, TARGET / folder.name, ignore=shutil.ignore_patterns("_lock", ".lock"))
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    return 0


def _binx(*words: str) -> None:
    code = subprocess.run([sys.executable, "-m", "binx", *words, "--quiet"], check=False).returncode
    if code not in (0, 3):
        raise SystemExit(f"binx {words[0]} ended with {code}")


if __name__ == "__main__":
    sys.exit(main())
