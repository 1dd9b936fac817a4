"""Every command takes compressed logs as it takes plain ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from tests.cli.conftest import Shop
from tests.cli.process import binx


@pytest.fixture(params=[".zst", ".gz"])
def compressed(request: pytest.FixtureRequest, shop: Shop, tmp_path: Path) -> list[Path]:
    compress = gzip.compress if request.param == ".gz" else zstandard.ZstdCompressor().compress
    paths = []
    for log in shop.logs:
        path = tmp_path / (log.name + request.param)
        path.write_bytes(compress(log.read_bytes()))
        paths.append(path)
    return paths


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_data_set_is_the_same_byte_for_byte(compressed: list[Path], shop: Shop, tmp_path: Path) -> None:
    assert binx("to-parquet", *shop.logs, "-o", tmp_path / "plain").code == 0
    assert binx("to-parquet", *compressed, "-o", tmp_path / "compressed").code == 0
    assert tree(tmp_path / "compressed") == tree(tmp_path / "plain")


def test_slices_and_listings_are_the_same(compressed: list[Path], shop: Shop, tmp_path: Path) -> None:
    slices = []
    for name, logs in (("plain", shop.logs), ("compressed", compressed)):
        assert binx("extract", "--limit", "20", *logs, "-o", tmp_path / name).code == 0
        slices.append((tmp_path / name).read_bytes())
    assert slices[0] == slices[1]
    listings = [binx("ls", *reversed(logs)).out for logs in (shop.logs, compressed)]
    assert listings[0] == listings[1] != ""


def test_standard_input_may_be_compressed(compressed: list[Path], shop: Shop) -> None:
    plain, other = (binx("ls", "-", stdin=logs[0].read_bytes()) for logs in (shop.logs, compressed))
    assert plain.code == 0
    assert other == plain


def test_a_cut_one_is_refused_with_path_and_offset(compressed: list[Path]) -> None:
    path = compressed[0]
    path.write_bytes(path.read_bytes()[:-20])
    ended = binx("ls", path)
    assert ended.code == 1
    assert f"{path}, offset " in ended.err
    assert "Traceback" not in ended.err
