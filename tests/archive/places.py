"""Folders of logs, and archives of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

from binx.archive.archiving import ArchiveRun
from binx.archive.check import CheckReport, check_archive
from binx.archive.report import ArchiveLogReport, ArchiveRequest, RunReport
from binx.source import PlainFile
from binx.source.age import AgeFile, Identities
from binx.storage.store import LocalStore
from tests.conftest import TESTDATA
from tests.exports import contents
from tests.source.ages import EXAMPLE_IDENTITY

EXAMPLE = Identities((EXAMPLE_IDENTITY,), "the standard")
"""Who decrypts what is encrypted to the standard's example."""

SHOP = TESTDATA / "mysql-9.7" / "shop"
UUID = "bf1c133d-e590-11f1-8de0-02fc00000001"
"""Of the server that wrote these logs, as their GTIDs have it."""

MARIADB_SHOP = TESTDATA / "mariadb-10.11" / "shop"
IN_USE = TESTDATA / "mysql-9.7" / "in-use" / "mysql-bin.000001"
IN_USE_OFFSET = 4 + 17
"""Offset of the flags of a log's first event; the lowest bit says that the log is being written."""


def copy_logs(folder: Path, *numbers: int, shop: Path = SHOP) -> Path:
    """A folder with logs of the shop, and no index."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        shutil.copy(shop / f"mysql-bin.{number:06}", folder)
    return folder


def archive(source: Path, dest: Path | str, **settings: Any) -> tuple[list[ArchiveLogReport], RunReport]:
    """One run."""
    run = ArchiveRun(ArchiveRequest(str(source), str(dest), **settings))
    return list(run), run.report


def check(dest: Path, source: Path | None = None) -> CheckReport:
    """What ``archive --check`` finds."""
    return check_archive(LocalStore(dest), None if source is None else str(source))


def with_checksum(data: bytearray) -> bytes:
    """A log whose first event was changed, with its checksum."""
    size = int.from_bytes(data[13:17], "little")
    event = bytes(data[4 : 4 + size - 4])
    data[4 + size - 4 : 4 + size] = zlib.crc32(event).to_bytes(4, "little")
    return bytes(data)


def states(reports: list[ArchiveLogReport]) -> list[tuple[str, str]]:
    return [(Path(report.path).name, report.state.value) for report in reports]


def revealed(folder: Path) -> dict[str, str]:
    """The same of an archive that is encrypted to the standard's example, whose bytes are others each time.

    Of an encrypted object it is what went in, and a manifest tells neither its size nor any hash.
    """
    hashes = contents(folder)
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.suffix == ".age":
            source = AgeFile(PlainFile.open(str(path)), EXAMPLE)
            hashes[name] = hashlib.sha256(source.window(0, source.size)).hexdigest()
            source.close()
        elif path.parent.name == "_manifest":
            manifest = json.loads(path.read_bytes())
            manifest.pop("manifest_sha256", None)
            for stored in manifest.get("objects", []):
                del stored["bytes"], stored["sha256"]
            hashes[name] = json.dumps(manifest)
    return hashes


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted((folder / "_manifest").glob("*.json"))]


def check_manifests(folder: Path) -> None:
    """No manifest without its files: each object that one lists has its size and its hash."""
    for manifest in manifests(folder):
        for stored in manifest["objects"]:
            data = (folder / stored["path"]).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (stored["bytes"], stored["sha256"])
