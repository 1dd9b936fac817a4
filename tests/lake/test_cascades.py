"""Tables whose rows foreign keys changed without a log are incomplete, and are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.lake.at_moment import table_at
from tests.lake.conftest import Load
from tests.lake.dataset import Name, Server, column_effect

PARENT: Name = ("shop", "users")
RENAMED: Name = ("shop", "people")
CHILD: Name = ("shop", "orders")
GRANDCHILD: Name = ("shop", "lines")
FIELDS = [("id", pa.int32()), ("parent", pa.int32()), ("name", pa.string())]


def family(image: str, *, deletes: bool, columns: tuple[str, ...]) -> Server:
    """Three tables; the second refers to the first with these actions, the third to the second with both."""
    server = Server(image=image)
    server.create(PARENT, FIELDS, ["id"])
    for table, parent, acts in (
        (CHILD, PARENT, {"deletes": deletes, "columns": list(columns)}),
        (GRANDCHILD, CHILD, {"deletes": True, "columns": ["id"]}),
    ):
        server.create(table, FIELDS, ["id"])
        referred = {"db": parent[0], "table": parent[1], **acts}
        altered = {"action": "altered", "db": table[0], "table": table[1], "key": ["id"]}
        columns_after = [column_effect(*field) for field in FIELDS]
        server.ddl(
            "ALTER TABLE ... ADD FOREIGN KEY",
            {**altered, "columns": columns_after, "changes": [], "parents": [referred]},
        )
    server.transaction(*(("insert", PARENT, {"id": one, "parent": None, "name": "x"}) for one in (1, 2, 3)))
    server.transaction(*(("insert", CHILD, {"id": 10, "parent": 1, "name": "y"}),))
    return server


def exported(server: Server, folder: Path, *, unlogged: bool) -> Path:
    server.export_all(folder)
    for path in (folder / "_manifest").iterdir():
        manifest = json.loads(path.read_text())
        for entry in manifest["tables"]:
            entry["cascades_unlogged"] = unlogged
        path.write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize(
    ("image", "change", "acts", "told"),
    [
        ("FULL", ("delete", PARENT, (2,)), {"deletes": True, "columns": ()}, True),
        ("FULL", ("delete", PARENT, (2,)), {"deletes": False, "columns": ("id",)}, False),
        ("FULL", ("update", PARENT, (2,), {"id": 5}), {"deletes": False, "columns": ("ID",)}, True),
        ("MINIMAL", ("update", PARENT, (2,), {"id": 5}), {"deletes": False, "columns": ("ID",)}, True),
        ("MINIMAL", ("update", PARENT, (2,), {"name": "z"}), {"deletes": True, "columns": ("id",)}, False),
        ("FULL", ("update", PARENT, (2,), {"id": 5}), {"deletes": True, "columns": ()}, False),
    ],
)
def test_what_foreign_keys_change_unlogged_is_reported(
    tmp_path: Path, load: Load, image: str, change: Any, acts: dict[str, Any], told: bool
) -> None:
    server = family(image, **acts)
    earlier = server.clock
    server.transaction(change)
    code, summary = load(exported(server, tmp_path / "in", unlogged=True), tmp_path / "out")
    incomplete = {one["table"] for one in summary["tables"] if one["completeness"] != "yes"}
    # A row of the second table that was changed in silence may have changed rows of the third.
    assert (code, incomplete) == ((3, {"orders", "lines"}) if told else (0, set()))
    for table in ("orders", "lines"):
        assert ("foreign keys" in str(table_at(str(tmp_path / "in"), f"shop.{table}", None).missing)) == told
        assert table_at(str(tmp_path / "in"), f"shop.{table}", earlier.isoformat()).missing == []
    assert load(exported(server, tmp_path / "in", unlogged=False), tmp_path / "newer")[0] == 0


def test_foreign_keys_follow_a_parent_that_is_renamed(tmp_path: Path, load: Load) -> None:
    server = family("FULL", deletes=True, columns=("id",))
    server.rename((PARENT, RENAMED))
    server.transaction(("update", RENAMED, (2,), {"id": 5}))
    code, summary = load(exported(server, tmp_path / "in", unlogged=True), tmp_path / "out")
    assert (code, "rows of shop.people" in str(summary["tables"])) == (3, True)
