"""``binx load`` and ``binx spark-script``: what is said where Spark cannot be had."""

from __future__ import annotations

from pathlib import Path

from tests.cli.process import binx


def test_the_script_is_a_file(tmp_path: Path) -> None:
    ended = binx("spark-script", cwd=tmp_path)
    assert ended.code == 0
    assert Path(ended.out.rstrip("\n")).is_file()
    assert Path(ended.out.rstrip("\n")).is_absolute()
    assert binx("spark-script", "load").out == ended.out
    ended = binx("spark-script", "lode")
    assert (ended.code, ended.err) == (2, "binx: error: expected the name of a script (load), found 'lode'\n")


def test_what_is_no_data_set_is_told_before_spark_is_looked_for(tmp_path: Path) -> None:
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert ended.code == 4
    assert ended.err.startswith(f"binx: error: {tmp_path}: has no _manifest/*.json")
    manifest = tmp_path / "_manifest" / "mysql-bin.000001.5eed5eed.json"
    manifest.parent.mkdir()
    manifest.write_text('{"contract": 1, "files": []}')
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert ended.code == 1
    assert ended.err.startswith(f"binx: error: {manifest}: is not a manifest of binx")


def test_a_data_set_has_to_be_named(tmp_path: Path) -> None:
    ended = binx("load", "-o", tmp_path / "tables")
    assert ended.code == 2
    assert ended.err.startswith("binx: error: expected a data set written by to-parquet")
    ended = binx("load", tmp_path, "-o", tmp_path / "tables", "--key", "orders")
    assert ended.code == 2
    assert "expected DB.TABLE=COLUMN" in ended.err
