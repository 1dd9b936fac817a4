"""binx as a user has it: installed in an environment, not as an editable project.

setuptools' finder of editable projects is imported at each start of Python, and takes longer than that.
"""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path

_EDITABLE = "__editable__"
_SCRIPT = """#!{python}
import sys
from binx.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What pip writes for a console script."""


def install(folder: Path, package: Path) -> Path:
    """Make an environment that has what the running one has, and a package that lies elsewhere.

    Args:
        folder: where to; it must not be there.
        package: the folder of the package binx.

    Returns:
        The folder of its programs, ``python`` and ``binx``.
    """
    builder = venv.EnvBuilder(symlinks=True, with_pip=False)
    builder.create(folder)
    facts = builder.ensure_directories(folder)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(_EDITABLE) and entry.name not in (package.name, "__pycache__"):
            (site / entry.name).symlink_to(entry)
    (site / package.name).symlink_to(package)
    programs = Path(facts.bin_path)
    script = programs / package.name
    script.write_text(_SCRIPT.format(python=facts.env_exe), "utf-8")
    script.chmod(0o755)
    return programs


__all__ = ["install"]
