"""What binx writes may be read by whom the umask lets, as with any other program."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx

COMMANDS = {
    "extract": ["extract", "--limit", "3", "-o", "out"],
    "sql": ["extract", "--limit", "3", "--format", "sql", "-o", "out.sql"],
    "index": ["index", "-o", "indexes"],
    "to-parquet": ["to-parquet", "-o", "lake"],
}


@pytest.mark.parametrize(("umask", "file", "folder"), [("022", 0o644, 0o755), ("077", 0o600, 0o700)])
@pytest.mark.parametrize("name", COMMANDS)
def test_files_and_folders_follow_the_umask(
    name: str, umask: str, file: int, folder: int, shop: Shop, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    prefix = ["sh", "-c", f'umask {umask}; exec "$@"', "sh"]
    ended = binx(*COMMANDS[name], shop.logs[0], cwd=inside, prefix=prefix)
    assert ended.code == 0, ended.err
    written = list(inside.rglob("*"))
    assert written
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == (folder if path.is_dir() else file), path
