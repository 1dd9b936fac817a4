"""The wheel, the standalone folder and a checkout where there is next to nothing: ``python -m tests.bare``.

Each runs in a root of its own that debootstrap makes: the wheel in Debian with its Python, without a
compiler; the standalone folder in Debian without Python; ``make demo`` of a checkout in Debian with Python
and its headers, without a compiler and without Java. It takes root, the network, and what ``make wheel`` and
``make standalone`` have built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "bare"
LOGS = PROJECT / "testdata" / "mysql-9.7" / "shop"
RELEASE = "bookworm"

COMMANDS = (
    ("--version",),
    ("ls", "--tz", "Europe/Berlin", "/logs/mysql-bin.index"),
    ("stats", "/logs/mysql-bin.000003"),
    ("show", "--limit", "3", "/logs/mysql-bin.000003"),
    ("verify", "/logs/mysql-bin.index"),
    ("extract", "--format", "sql", "/logs/mysql-bin.000003"),
    ("extract", "--format", "json", "--where", "total > 100", "/logs/mysql-bin.000003"),
    ("to-parquet", "/logs/mysql-bin.index", "-o", "/lake"),
    ("archive", "/logs/mysql-bin.index", "--to", "/archive"),
    ("ls", "/archive"),
    ("query", "SELECT count(*) AS n FROM shop.orders", "/logs/mysql-bin.000003"),
)
"""What is run in both roots, and has to print the same in both."""


GTID = "bf1c133d-e590-11f1-8de0-02fc00000001:903"
SINCE = ("--since", "2026-11-21T09:48:53.46")
FIRST = (
    ("ls", *SINCE, "--limit", "3", "/logs/mysql-bin.000003"),
    ("extract", "--gtid", GTID, "/logs/mysql-bin.index", "-o", "/one.binlog", "--force"),
    ("why", "--table", "shop.customers", "--pk", "8", *SINCE, "--limit", "1", "/logs/mysql-bin.index"),
)
"""The first three commands of README.md."""


def make_root(name: str, *packages: str) -> Path:
    """A bare Debian with some packages and the logs."""
    root = BUILD / name
    if not root.exists():
        include = [f"--include={','.join(packages)}"] if packages else []
        subprocess.run(["debootstrap", "--variant=minbase", *include, RELEASE, root], check=True)
    for made in ("logs", "lake", "archive"):
        shutil.rmtree(root / made, ignore_errors=True)
    shutil.copytree(LOGS, root / "logs")
    return root


def run(root: Path, *command: str) -> str:
    """What a command prints in a root."""
    clean = ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"]
    done = subprocess.run(["chroot", root, *clean, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{root.name}: {' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def install_wheel() -> tuple[Path, str]:
    """A root with the wheel and its dependencies, and the program's path in it."""
    root = make_root("wheel", "python3-venv")
    shutil.copytree(PROJECT / "dist" / "wheels", root / "wheels", dirs_exist_ok=True)
    run(root, "python3", "-m", "venv", "--clear", "/opt/binx")
    began = os.times()
    [wheel] = (root / "wheels").glob("binx_binlog-*.whl")
    run(
        root, "/opt/binx/bin/pip", "install", "--no-index", "--find-links", "/wheels", f"/wheels/{wheel.name}"
    )
    for command in FIRST:
        run(root, "/opt/binx/bin/binx", *command)
    ended = os.times()
    cpu = sum(ended[2:4]) - sum(began[2:4])
    print(f"pip and README's first three commands: {ended.elapsed - began.elapsed:.0f} s, CPU {cpu:.0f} s")
    run(root, "/opt/binx/bin/pip", "install", "--no-index", "--find-links", "/wheels", "binx-binlog[query]")
    return root, "/opt/binx/bin/binx"


def install_folder() -> tuple[Path, str]:
    """A root with the standalone folder, and the program's path in it."""
    root = make_root("standalone")
    shutil.rmtree(root / "opt" / "binx", ignore_errors=True)
    shutil.copytree(PROJECT / "dist" / "binx", root / "opt" / "binx", symlinks=True)
    return root, "/opt/binx/binx"


def run_demo() -> None:
    """Run ``make demo`` of the committed files, which installs a compiler and a Java of its own."""
    root = make_root("checkout", "python3-venv", "python3-dev", "make")
    shutil.rmtree(root / "binx", ignore_errors=True)
    (root / "binx").mkdir()
    with subprocess.Popen(["git", "archive", "HEAD"], cwd=PROJECT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", root / "binx"], stdin=archive.stdout, check=True)
    # The host's way to the network; Spark asks for the address of localhost.
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc" / "authorities.crt")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    mount = root / "proc"
    subprocess.run(["mount", "--bind", "/proc", mount], check=True)
    try:
        settings = ["env", "HOME=/root", "PIP_CERT=/etc/authorities.crt"]
        printed = run(root, *settings, "make", "-C", "/binx", "demo")
    finally:
        subprocess.run(["umount", mount], check=True)
    without_tools(root, "cc", "gcc", "java")
    tables = [line for line in printed.splitlines() if line.endswith("rows  equal")]
    assert tables, "the demo has compared no table"
    print(f"make demo: {len(tables)} tables are equal to those of the server")


def without_tools(root: Path, *tools: str) -> None:
    """Check that a root was bare."""
    for tool in tools:
        assert not any((root / "usr" / "bin").glob(tool)), f"{root.name} is not bare: it has {tool}"


def main() -> None:
    """Install wheel and folder, run the commands, compare what they print; run the demo."""
    printed: dict[str, list[str]] = {}
    for root, program in (install_wheel(), install_folder()):
        printed[root.name] = [run(root, program, *command) for command in COMMANDS]
        without_tools(root, "cc", "gcc")
    without_tools(BUILD / "standalone", "python3*")
    for command, one, other in zip(COMMANDS[1:], *(texts[1:] for texts in printed.values()), strict=True):
        if one != other:
            sys.exit(f"{' '.join(command)}: the wheel and the standalone folder print different things")
        print(f"{' '.join(command)}: {len(one.splitlines())} lines in both")
    run_demo()


if __name__ == "__main__":
    main()
