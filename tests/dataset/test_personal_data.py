"""Rules about personal data, and what they do to documents; ``tests/live`` looks for canaries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.dataset.personal.documents import NOT_APPLICABLE, Documents, parsed
from binx.dataset.personal.rules import Masking, PersonalData, parse_rule, personal_data
from binx.dataset.personal.statements import scrub, sealed_record, unsealed_catalog
from binx.errors import UsageError
from binx.rows.ddl.catalog import Catalog


def documents(*rules: tuple[str, bool]) -> Documents:
    found = [(parse_rule(f"a.b.c:{path}").path, hashes) for path, hashes in rules]
    return Documents(found, lambda text: f"#{text}")


@pytest.mark.parametrize(
    ("path", "hashes", "document", "expected"),
    [
        ("$.phone", False, '{"n": 1.50, "phone": "x"}', '{"n": 1.50}'),
        ("$.phone", True, '{"n": 1.50, "phone": "x"}', '{"n": 1.50, "phone": "#x"}'),
        ("$.phone", True, '{"phone": 1.50}', '{"phone": "#1.50"}'),
        ("$.phone", True, '{"phone": null}', '{"phone": null}'),
        ("$.phone", True, '{"phone": {"b": [1, "x"]}}', '{"phone": "#{\\"b\\": [1, \\"x\\"]}"}'),
        ('$."a b".c', False, '{"a b": {"c": 1, "d": 2}}', '{"a b": {"d": 2}}'),
        ("$.list[*].x", False, '{"list": [{"x": 1}, {"y": 2}]}', '{"list": [{}, {"y": 2}]}'),
        ("$.list[1]", False, '{"list": ["a", "b", "c"]}', '{"list": ["a", null, "c"]}'),
        ("$.list[*]", True, '{"list": "alone"}', '{"list": "#alone"}'),
        ("$.list[*].x", False, '{"list": {"x": 1, "y": 2}}', '{"list": {"y": 2}}'),
        ("$.*.x", False, '{"a": {"x": 1}, "b": {"x": 2, "y": 3}}', '{"a": {}, "b": {"y": 3}}'),
        ("$.phone", False, '{"z":1,  "a":2}', '{"z":1,  "a":2}'),
        ("$.a.x", False, '{"a": {"x": "first"}, "a": {}}', '{"a": {}}'),
        ("$.\\u0041", False, '{"A": 1}', None),
    ],
)
def test_parts_of_documents_go_or_are_hashed(
    path: str, hashes: bool, document: str, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="expected DB"):
            documents((path, hashes))
    else:
        assert documents((path, hashes)).masked(document) == expected


@pytest.mark.parametrize("text", ["no document", '{"a": NaN}', '{"a": 1'])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|is no JSON"):
        documents(("$.a", False)).masked(text)


@pytest.mark.parametrize(
    ("path", "hashes", "difference", "expected"),
    [
        ("$.a", True, {"op": "replace", "path": "$.a", "value": "x"}, {"value": "#x"}),
        ("$.a", False, {"op": "replace", "path": "$.a", "value": "x"}, None),
        ("$.a", False, {"op": "remove", "path": "$.a"}, None),
        ("$.a", True, {"op": "remove", "path": "$.a"}, {}),
        ("$.a.b", False, {"op": "insert", "path": "$.a", "value": {"b": 1, "c": 2}}, {"value": {"c": "2"}}),
        ("$.a", True, {"op": "replace", "path": "$.a.b", "value": 1}, NOT_APPLICABLE),
        ("$.a", False, {"op": "replace", "path": "$.a.b", "value": 1}, None),
        ("$.a[1]", False, {"op": "replace", "path": "$.a[1]", "value": 1}, {"value": None}),
        ("$.a[1]", False, {"op": "remove", "path": "$.a[1]"}, {}),
        ("$.a[*].b", True, {"op": "replace", "path": "$.a[3].b", "value": "x"}, {"value": "#x"}),
        ("$.a", True, {"op": "replace", "path": "$.b", "value": "x"}, {}),
    ],
)
def test_differences_of_documents_follow_the_same_rules(
    path: str, hashes: bool, difference: dict[str, object], expected: dict[str, object] | None
) -> None:
    found = documents((path, hashes)).differences([parsed(json.dumps(difference))])
    if expected is NOT_APPLICABLE:
        assert found == [NOT_APPLICABLE]
    else:
        assert found == ([] if expected is None else [{**difference, **expected}])


def test_rules_hold_for_names_in_any_case_and_for_copies_of_a_table() -> None:
    rules = PersonalData((parse_rule("shop.users.ssn*"),), (parse_rule("shop.users.Email"),), b"key")
    for name in ("users", "USERS", "_users_gho", "_users_del", "__users_old", "_users_new"):
        found = rules.of_table("Shop", name)
        assert found is not None
        assert found.masking("EMAIL") == Masking(hashes=True)
        assert found.masking("ssn2") == Masking(drops=True)
        assert found.masking("note") is None
    assert rules.of_table("shop", "users2") is None
    assert rules.of_table("other", "users") is None


@pytest.mark.parametrize(
    "text", ["", "a.b", "a.b.c.d", "a..c", "a.b.c:", "a.b.c:$", "a.b.c:x", "a.b.c:$.a..b"]
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected DB\.TABLE\.COLUMN"):
        parse_rule(text)


def test_members_of_hashed_columns_are_sealed_between_logs() -> None:
    catalog = Catalog()
    catalog.load_dump(
        "USE shop; CREATE TABLE users (id INT PRIMARY KEY, kind ENUM('canary 1', 'canary 2'), "
        " marks SET('canary 3'), plain ENUM('seen'));"
    )
    rules = PersonalData((), (parse_rule("shop.users.kind"), parse_rule("shop.users.marks")), b"key" * 8)
    scrub(catalog, rules)
    sealed = sealed_record(catalog, rules)
    assert b"canary" not in sealed
    assert b"'seen'" in sealed
    assert sealed_record(catalog, rules) == sealed
    assert list(unsealed_catalog(sealed, rules)) == list(catalog)
    for other in (None, rules._replace(key=b"other")):
        with pytest.raises(UsageError, match=r"shop\.users\.kind among --hash-columns and another key"):
            unsealed_catalog(sealed, other)


def test_hashes_need_a_key_that_is_no_guess(tmp_path: Path) -> None:
    rule = parse_rule("a.b.c")
    (tmp_path / "short").write_bytes(b"short\n")
    for path in (None, str(tmp_path / "short"), str(tmp_path / "nothing")):
        with pytest.raises(UsageError):
            personal_data((), (rule,), path)
    assert personal_data((), (), None) is None
    assert personal_data((rule,), (), None) == PersonalData((rule,))
