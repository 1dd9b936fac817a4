"""What earlier versions of binx wrote is read by this one: data sets, loaded tables, archives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from binx.archive.manifest import CONTRACT as ARCHIVE
from binx.dataset.dataset import DataSet, escape_name
from binx.dataset.manifest import CONTRACT as DATA_SET
from binx.errors import ExitCode, UnsupportedError
from binx.lake.state.loaded_state import CONTRACT as TABLES
from testdata.compare import compare_shop
from testdata.contracts import LOADED, LOG, SHOP, TARGET
from tests.cli.process import binx
from tests.exports import export
from tests.lake.conftest import Load, files_of

DATA_SETS, STATES, ARCHIVES = (sorted(TARGET.glob(f"{kind}-*")) for kind in ("data-set", "tables", "archive"))
NAMES = [folder.name for folder in STATES]


def named(folder: Path) -> str:
    return folder.name


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


def tables_of(output: Path, to: Path) -> list[str]:
    """The loaded tables of the shop whose rows are not what SELECT said in the end."""

    def current(db: str, table: str) -> Path:
        folder = to / escape_name(db) / escape_name(table)
        folder.mkdir(parents=True, exist_ok=True)
        for path in files_of(output, (db, table)):
            shutil.copy(path, folder)
        return folder

    comparisons = list(compare_shop(SHOP, current))
    assert len(comparisons) >= 8
    return [one.table for one in comparisons if not one.equal]


def test_each_contract_of_this_version_has_what_it_wrote() -> None:
    """A contract with another number needs what ``python -m testdata.contracts`` writes."""
    assert [DATA_SETS[-1].name, STATES[-1].name, ARCHIVES[-1].name] == [
        f"data-set-{DATA_SET.number}", f"tables-{TABLES.number}", f"archive-{ARCHIVE.number}",
    ]  # fmt: skip


@pytest.mark.parametrize("data_set", DATA_SETS, ids=named)
@pytest.mark.parametrize("tables", STATES, ids=named)
def test_later_logs_are_loaded_on_top_of_what_earlier_versions_wrote(
    data_set: Path, tables: Path, tmp_path: Path, load: Load
) -> None:
    lake, output = copied(data_set, tmp_path / "lake"), copied(tables, tmp_path / "tables")
    export(lake, sorted(SHOP.glob("mysql-bin.0*")))
    code, summary = load(lake, output, *(word for table in LOADED for word in ("--table", table)))
    assert (code, summary["load"], summary["new_manifests"]) == (ExitCode.DONE, 2, 5)
    assert load(lake, output)[1]["load"] == 3
    assert tables_of(output, tmp_path / "compared") == []
    state = json.loads((output / "_state.json").read_text())
    assert state["contract"] == TABLES.number
    versions = files_of(output, ("shop", "products"), "scd2")
    assert versions
    # History has each change once, whichever version of binx took it.
    counted = binx("stats", *sorted(SHOP.glob("mysql-bin.0*")), "--json")
    expected = {
        (entry["db"], entry["table"]): entry["inserts"] + 2 * entry["updates"] + entry["deletes"]
        for entry in json.loads(counted.out)["tables"]
    }
    found: dict[tuple[str, str], int] = {}
    for file in state["history"]:
        found[tuple(file["table"])] = found.get(tuple(file["table"]), 0) + file["rows"]
    assert found == {table: count for table, count in expected.items() if count}


@pytest.mark.parametrize("tables", STATES, ids=named)
def test_a_table_of_an_earlier_version_is_made_again_from_its_history(
    tables: Path, tmp_path: Path, load: Load
) -> None:
    output = copied(tables, tmp_path / "tables")
    lake = copied(DATA_SETS[0], tmp_path / "lake")
    before = load(lake, output, "--table", "shop.products")[1]["tables"][0]["current"]
    code, summary = load(lake, output, "--table", "shop.products", "--rebuild", "shop.products")
    assert code == ExitCode.DONE, summary
    assert before is None
    assert summary["tables"][0]["current"] > 0


@pytest.mark.parametrize("data_set", DATA_SETS, ids=named)
def test_a_data_set_of_an_earlier_version_is_whole(data_set: Path) -> None:
    manifests = list(DataSet(str(data_set)).manifests())
    assert [manifest["source"]["name"] for manifest in manifests] == ["mysql-bin.000001", "mysql-bin.000002"]


@pytest.mark.parametrize("archive", ARCHIVES, ids=named)
def test_an_archive_of_an_earlier_version_is_proven_and_continued(archive: Path, tmp_path: Path) -> None:
    place, logs = copied(archive, tmp_path / "archive"), tmp_path / "logs"
    logs.mkdir()
    shutil.copy(LOG, logs)
    checked = binx("archive", logs, "--to", place, "--check", "--json")
    assert checked.code == ExitCode.DONE, checked.err
    before = {path: path.stat().st_mtime_ns for path in place.rglob("mysql-bin.*")}
    assert binx("archive", logs, "--to", place).code == ExitCode.DONE
    assert {path: path.stat().st_mtime_ns for path in place.rglob("mysql-bin.*")} == before


def test_what_a_newer_version_wrote_is_refused_and_stays(tmp_path: Path, load: Load) -> None:
    lake, output = copied(DATA_SETS[-1], tmp_path / "lake"), copied(STATES[-1], tmp_path / "tables")
    state = json.loads((output / "_state.json").read_text())
    newer = json.dumps({**state, "contract": TABLES.number + 1})
    (output / "_state.json").write_text(newer)
    code, summary = load(lake, output)
    assert (code, "a newer version wrote it" in summary["error"]) == (ExitCode.FAILED, True)
    assert (output / "_state.json").read_text() == newer
    manifest = next((lake / "_manifest").glob("*.json"))
    document = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**document, "contract": DATA_SET.number + 1}))
    with pytest.raises(UnsupportedError, match="a newer version wrote it"):
        export(lake, sorted(SHOP.glob("mysql-bin.0*")))
    code, summary = load(lake, tmp_path / "other")
    assert (code, "a newer version wrote it" in summary["error"]) == (ExitCode.FAILED, True)
