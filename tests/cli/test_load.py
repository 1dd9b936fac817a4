"""``binx load`` and ``binx spark-script``: what is said where Spark cannot be had."""

from __future__ import annotations

from pathlib import Path

from tests.cli.process import binx


def test_the_script_is_a_file(tmp_path: Path) -> None:
    ended = binx("spark-script", cwd=tmp_path)
    assert ended.code == 0
    assert Path(ended.out.rstrip("\n")).is_file()
    assert Path(ended.out.rstrip("\n")).is_absolute()


def test_without_java_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    ended = binx(
        "load", "--input", tmp_path / "lake", "--output", tmp_path / "tables",
        env={"PATH": str(tmp_path), "JAVA_HOME": ""},
    )  # fmt: skip
    assert ended.code == 1
    assert ended.err.startswith("binx: error: Spark needs Java, and no java is on PATH")
    assert "openjdk" in ended.err
