"""A session that cannot start says what is missing and how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import BinxError
from binx.spark import session


def test_no_java_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinxError, match=r"no java is on PATH.*apt install openjdk-17-jre-headless"):
        session.check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match="has no bin/java"):
        session.check_java()


@pytest.mark.parametrize(
    ("answer", "version"), [('openjdk version "11.0.2"', 11), ('java version "1.8.0_4"', 8)]
)
def test_an_old_java_is_refused(
    answer: str, version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=f"Java 17 or newer, and .* is {version}:"):
        session.check_java()


def test_no_pyspark_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(BinxError, match=r"-m pip install 'binx\[spark\]'"):
        session.check_pyspark()
