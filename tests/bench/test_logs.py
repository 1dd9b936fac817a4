"""The cache of generated logs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.logs import Log, cache_key, find_log, need_log
from bench.recipes import RECIPES

GTID = "00000000-0000-0000-0000-000000000001:9"
GTID_BEFORE = "00000000-0000-0000-0000-000000000001:8"


def keep(folder: Path, key: str) -> Log:
    """Put a log into the cache, and say what should be found."""
    (folder / key).mkdir()
    path = folder / key / "mysql-bin.000001"
    path.write_bytes(b"\xfebin")
    facts = {"kind": "oltp", "path": path.name, "bytes": 4, "server": "MySQL 9.7.0"}
    facts |= {"gtid": GTID, "gtid_before": GTID_BEFORE}
    (folder / key / "log.json").write_text(json.dumps(facts), "utf-8")
    return Log("oltp", path, 4, "MySQL 9.7.0", GTID, GTID_BEFORE)


def test_the_key_names_kind_size_and_recipe_version() -> None:
    assert cache_key(replace(RECIPES["oltp"], version=7), 50) == "oltp-50MB-v7"


def test_another_kind_size_or_version_is_another_key() -> None:
    recipe = RECIPES["oltp"]
    raised = replace(recipe, version=recipe.version + 1)
    keys = {cache_key(one, size) for one in (*RECIPES.values(), raised) for size in (1, 10, 100)}
    assert len(keys) == 3 * (len(RECIPES) + 1)


def test_a_log_that_was_kept_is_found_with_its_path(tmp_path: Path) -> None:
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    assert find_log(RECIPES["oltp"], 50, tmp_path) == kept


def test_a_log_that_is_there_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    assert need_log("oltp", 50, tmp_path) == kept


def test_a_log_of_another_size_is_not_taken_for_it(tmp_path: Path) -> None:
    keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    assert find_log(RECIPES["oltp"], 51, tmp_path) is None


def test_a_folder_without_facts_is_a_log_that_was_not_finished(tmp_path: Path) -> None:
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    (kept.path.parent / "log.json").unlink()
    assert find_log(RECIPES["oltp"], 50, tmp_path) is None
