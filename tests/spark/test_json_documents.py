"""Differences of JSON documents: applied as the server does, or not at all."""

from __future__ import annotations

import json

import pytest

from binx.spark.lake.arrow.replay import applied


@pytest.mark.parametrize(
    ("document", "change", "expected"),
    [
        ('{"a": 1.0, "bb": 2}', ["replace", "$.a", "2.50"], '{"a": 2.50, "bb": 2}'),
        ('{"bb": 1e100}', ["insert", "$.a", "1"], '{"a": 1, "bb": 1e100}'),
        ('{"a": [1, 2, 3]}', ["remove", "$.a[1]", None], '{"a": [1, 3]}'),
        ('{"a": [1, 2]}', ["insert", "$.a[1]", '"ä"'], '{"a": [1, "ä", 2]}'),
        ('{"a b": {"c": null}}', ["replace", '$."a b".c', "true"], '{"a b": {"c": true}}'),
        ("[1]", ["replace", "$", "{}"], "{}"),
        ('{"a": 1}', ["replace", "$.b", "1"], None),
        ('{"a": 1}', ["insert", "$.a", "2"], None),
        ('{"a": 1}', ["remove", "$.b", None], None),
        ('{"a": 1}', ["replace", "$.a[3].b", "1"], None),
        ("no document", ["remove", "$.b", None], None),
    ],
)
def test_a_change_is_applied_or_the_document_is_not_known(
    document: str, change: list[str | None], expected: str | None
) -> None:
    action, path, value = change
    told = f'{{"op": "{action}", "path": {json.dumps(path)}' + (f', "value": {value}}}' if value else "}")
    assert applied(document, f"[{told}]") == expected
