"""Regular expressions mean the same in every Python that binx runs with."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import PROJECT

POSSESSIVE = re.compile(r"[)\].*\w}+?]\+\+|[*?}]\+|\(\?>")
"""Possessive quantifiers and atomic groups, of which Python before 3.11.5 (Debian 12) gets some wrong."""

COMPILING = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}


def patterns(source: str) -> list[str]:
    """The pieces of text in what a module gives to ``re`` by its functions."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in COMPILING
    ]
    constants = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("pattern", ["a++", "[^']*+", "(?:x|y)?+", "a{2}+", "(?>a|b)c"])
def test_what_is_possessive_is_seen(pattern: str) -> None:
    assert POSSESSIVE.search(patterns(f"import re\nre.compile({pattern!r} + 'x')")[0])


@pytest.mark.parametrize("pattern", ["a+", "[^']*", r"\++", "(?:a+)+", "[+]+"])
def test_what_is_not_possessive_passes(pattern: str) -> None:
    assert not POSSESSIVE.search(pattern)


def test_no_pattern_is_possessive() -> None:
    modules = sorted((PROJECT / "binx").rglob("*.py"))
    found = {str(module): patterns(module.read_text("utf-8")) for module in modules}
    assert sum(map(len, found.values())) > 50
    assert [(name, one) for name, texts in found.items() for one in texts if POSSESSIVE.search(one)] == []
