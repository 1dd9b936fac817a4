"""The page about formats says what the tests observe."""

from __future__ import annotations

from tests.corpus.formats import PAGE, page


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/formats.md is stale: run `make formats`"
