"""Statements in the data set, digests, slices that add up, and personal data that is left out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.dataset.log_export import LogDigest
from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.parquet import to_parquet
from binx.dataset.personal.documents import NOT_APPLICABLE, Documents, parsed
from binx.dataset.personal.masked_statements import scrub, sealed_record, unsealed_catalog
from binx.dataset.personal.rules import Masking, PersonalData, parse_rule, personal_data
from binx.errors import RefusedError, UsageError
from binx.event.statement_digest import digest_text
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile, open_files
from binx.rows.ddl.catalog import Catalog
from binx.source import READ_BYTES
from tests.conftest import PROJECT, TESTDATA
from tests.dataset.current_state import SHOPS, SMALL, slice_of, transactions_of


def statements(log: Path, folder: Path) -> list[dict[str, Any]]:
    files = open_files([str(log)])
    [_] = to_parquet(files, folder)
    files[0].close()
    [path] = (folder / "statements").iterdir()
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_schema_statements_have_effects_and_others_have_none(server: str, tmp_path: Path) -> None:
    found = statements(TESTDATA / server / "small" / "ddl.binlog", tmp_path)
    for row in found:
        words = row["sql"].upper().split()
        if row["kind"] != "ddl":
            assert row["effects"] == [], row["sql"]
        for effect in row["effects"]:
            expected = {
                "CREATE TABLE": "created",
                "DROP TABLE": "dropped",
                "TRUNCATE TABLE": "truncated",
            }.get(" ".join(words[:2]))
            assert expected in (effect["action"], None), row["sql"]
            assert effect["action"] != "not_understood", row["sql"]
            written = row["sql"].replace("``", "`").casefold()
            assert effect["table"] is None or effect["table"].casefold() in written
    assert {effect["action"] for row in found for effect in row["effects"]} >= {"created", "altered"}


LOG = TESTDATA / "mariadb-10.11" / "shop" / "mysql-bin.000001"
"""A log with the texts that its rows were logged with (ANNOTATE_ROWS)."""


def exported(kept: StatementTexts, folder: Path, **more: Any) -> tuple[pa.Table, pa.Table]:
    """The statements that rows were logged with, and the changes' places and tables."""
    options = ParquetOptions(statements=kept, **more)
    with BinlogFile.open(str(LOG)) as file:
        list(to_parquet([file], folder, options=options))
    [path] = (folder / "statements").iterdir()
    table = pq.read_table(path)
    changes = [
        pq.read_table(found, columns=["_commit_version", "_statement"]).append_column(
            "table", pa.array([found.parent.name] * pq.read_metadata(found).num_rows)
        )
        for found in (folder / "changes").rglob("*.parquet")
    ]
    return table.filter(pc.equal(table["kind"], "rows")), pa.concat_tables(changes)


def test_each_change_has_the_statement_that_it_was_logged_with(tmp_path: Path) -> None:
    texts, changes = exported(StatementTexts.TEXT, tmp_path)
    said = {(row["commit_version"], row["ordinal"]): row for row in texts.to_pylist()}
    assert len(said) == texts.num_rows > 500
    for change in changes.to_pylist():
        statement = said[change["_commit_version"], change["_statement"]]
        assert change["table"] in statement["sql"]
        assert statement["digest_text"] == digest_text(statement["sql"])
        assert statement["digest"] == hashlib.sha256(statement["digest_text"].encode()).hexdigest()


def test_a_digest_has_no_values_and_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    texts, _ = exported(StatementTexts.DIGEST, tmp_path / "digest")
    assert set(texts["sql"].to_pylist()) == {""}
    assert not any("example.org" in text or "'" in text for text in texts["digest_text"].to_pylist())
    assert exported(StatementTexts.NONE, tmp_path / "none")[0].num_rows == 0


def test_with_rules_about_personal_data_neither_text_nor_digest_is_kept(tmp_path: Path) -> None:
    personal = personal_data((parse_rule("shop.customers.email"),), (), None)
    texts, _ = exported(StatementTexts.TEXT, tmp_path, personal=personal)
    found = [texts[name].to_pylist() for name in ("sql", "digest_text", "digest")]
    assert {value for column in found for value in column} == {"", None}


def contents(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[start:end] for start, end, _, _ in transactions_of(path)]


def transactions_in(log: bytes, folder: Path) -> list[bytes]:
    path = folder / "slice.000001"
    path.write_bytes(log)
    return contents(path)


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_a_slice_of_everything_has_the_transactions_as_they_are(path: Path, tmp_path: Path) -> None:
    assert transactions_in(slice_of([path], verbatim=True)[0], tmp_path) == contents(path)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_slices_put_one_after_the_other_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = data.draw(st.sampled_from([*SMALL, SHOPS[0][0], SHOPS[1][0]]))
    whole = contents(path)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=4).map(sorted))
    joined: list[bytes] = []
    for first, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):

        def wanted(table: TransactionTable, index: int, first: int = first, stop: int = stop) -> bool:
            return first <= index < stop

        if first < stop:
            joined += transactions_in(slice_of([path], wanted, verbatim=True)[0], folder)
    assert joined == whole


DIGESTED = PROJECT / "testdata/mysql-9.7/small/all_types.binlog"
DATA = DIGESTED.read_bytes()
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize(
    "spans",
    [
        [],
        [(0, len(DATA))],
        [(4, 100), (90, 300), (300, len(DATA))],
        [(2000, 2100), (0, 50), (2050, 2200)],
        [(len(DATA) - 10, len(DATA)), (0, 100)],
    ],
    ids=["nothing", "all", "overlaps", "a step back", "the end first"],
)
def test_it_is_that_of_all_bytes(spans: list[tuple[int, int]]) -> None:
    with BinlogFile.open(str(DIGESTED)) as file:
        digest = LogDigest(file)
        for start, stop in spans:
            digest.saw(start, memoryview(DATA)[start:stop])
        assert digest.hexdigest() == SHA256


def test_what_was_not_seen_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(DATA)
    os.truncate(path, 3 * READ_BYTES + 1000)
    whole = path.read_bytes()
    with BinlogFile.open(str(path)) as file:
        digest = LogDigest(file)
        digest.saw(READ_BYTES, memoryview(whole)[READ_BYTES : READ_BYTES + 10])
        assert digest.hexdigest() == hashlib.sha256(whole).hexdigest()


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
        ("$.list[0]", True, '{"list": {"a": 1}}', '{"list": "#{\\"a\\": 1}"}'),
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
        ("$.a[*].b", False, {"op": "replace", "path": "$.a.b", "value": "x"}, None),
        ("$.a[*].b", True, {"op": "replace", "path": "$.a.b", "value": "x"}, {"value": "#x"}),
        ("$.a[*].b", True, {"op": "replace", "path": "$.a.c", "value": "x"}, {}),
        ("$.a[*]", True, {"op": "replace", "path": "$.a[3]", "value": "x"}, {"value": "#x"}),
        ("$.a[0]", True, {"op": "replace", "path": "$.a", "value": {"b": "x"}}, {"value": '#{"b": "x"}'}),
        ("$.a[0]", True, {"op": "replace", "path": "$.a.b", "value": "x"}, NOT_APPLICABLE),
        ("$.a[0]", True, {"op": "replace", "path": "$.a[1]", "value": "x"}, {}),
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


def test_a_generated_column_needs_the_rule_of_the_column_that_it_is_made_of(
    testdata: Path, tmp_path: Path
) -> None:
    log = tmp_path / "mysql-bin.000001"
    shutil.copy(testdata / "mysql-9.7" / "small" / "invisible_and_generated.binlog", log)

    def export(*rules: str) -> list[str]:
        options = ParquetOptions(personal=PersonalData((), tuple(map(parse_rule, rules)), b"k" * 16))
        with BinlogFile.open(str(log)) as file:
            (report,) = to_parquet([file], tmp_path / "lake", options=options)
        return list(report.manifest["warnings"])

    with pytest.raises(RefusedError, match="twice is generated from id, which has a rule"):
        export("small.t.ID")
    assert export("small.t.id", "small.t.t*") == []


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
