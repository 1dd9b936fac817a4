"""``to-parquet --engine spark``: the files of the native engine, whatever becomes of the tasks."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import binx.spark.export as engine
from binx import __version__
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.dataset.predecessors import SourceReport
from binx.errors import AbsentError, BinxError, RefusedError, TruncatedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.chain.inputs import open_chain
from binx.log.scan import find_transactions
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.spark.export import Answer, Share, to_parquet_on_spark, write_share
from binx.spark.session import problems
from binx.where.condition import Condition
from tests.conftest import TESTDATA

SHOP = TESTDATA / "mariadb-10.11" / "shop"
LOGS = sorted(SHOP.glob("mysql-bin.00*"))


def tree(folder: Path) -> dict[str, bytes]:
    """All files of a data set by their paths."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def on_spark(
    spark: Any, logs: Path | list[Path], folder: Path, selection: Selection | None = None, **options: Any
) -> list[SourceReport]:
    paths = [str(path) for path in (logs if isinstance(logs, list) else [logs])]
    with open_chain(paths) as chain:
        files = [ends.file for ends in chain]
        selector = Selector(selection or Selection(), [file.name for file in files])
        return list(to_parquet_on_spark(spark, files, folder, selector, options=ParquetOptions(**options)))


def natively(logs: Path | list[Path], folder: Path, selection: Selection | None = None) -> dict[str, bytes]:
    paths = [str(path) for path in (logs if isinstance(logs, list) else [logs])]
    with open_chain(paths) as chain:
        files = [ends.file for ends in chain]
        list(to_parquet(files, folder, Selector(selection or Selection(), [file.name for file in files])))
    return tree(folder)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the native engine makes of the shop's logs, which name no columns: statements do."""
    return natively(SHOP, tmp_path_factory.mktemp("native"))


@pytest.mark.parametrize("logs", [SHOP, TESTDATA / "mysql-9.7" / "relay"], ids=["shop", "relay"])
def test_the_files_are_those_of_the_native_engine(spark: Any, logs: Path, tmp_path: Path) -> None:
    reports = on_spark(spark, logs, tmp_path / "spark")
    assert tree(tmp_path / "spark") == natively(logs, tmp_path / "native")
    assert all(not report.kept for report in reports)
    assert all(report.kept for report in on_spark(spark, logs, tmp_path / "spark"))
    assert tree(tmp_path / "spark") == tree(tmp_path / "native")


def test_encrypted_logs_are_read_with_the_keyring_of_the_same_path(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TESTDATA / "mysql-9.7" / "encrypted"
    monkeypatch.setenv("BINX_KEYRING", str(folder / "keyring.json"))
    on_spark(spark, folder / "mysql-bin.000003", tmp_path / "spark")
    assert tree(tmp_path / "spark") == natively(folder / "mysql-bin.000003", tmp_path / "native")


def test_selections_take_the_same_and_report_what_is_missing(spark: Any, tmp_path: Path) -> None:
    gtids = GtidSet.parse("0-97-100..200,0-97-99999999")
    with open_chain([str(SHOP)]) as chain:
        files = [ends.file for ends in chain]
        selector = Selector(Selection(gtids=gtids))
        for _ in range(2):
            list(to_parquet_on_spark(spark, files, tmp_path / "spark", selector))
        judge = Selector(Selection(gtids=gtids))
        list(to_parquet(files, tmp_path / "native", judge))
    assert selector.missing() == judge.missing()
    assert tree(tmp_path / "spark") == tree(tmp_path / "native")


def test_rows_are_chosen_by_a_condition_as_natively(spark: Any, tmp_path: Path) -> None:
    options = ParquetOptions(where=Condition("id between 10 and 20"))
    for _ in range(2):
        on_spark(spark, SHOP, tmp_path / "spark", where=options.where)
    with open_chain([str(SHOP)]) as chain:
        list(to_parquet([ends.file for ends in chain], tmp_path / "native", options=options))
    assert tree(tmp_path / "spark") == tree(tmp_path / "native")
    with pytest.raises(AbsentError, match="no table has no_such_column"):
        on_spark(spark, SHOP, tmp_path / "none", where=Condition("no_such_column = 1"))


def test_tasks_that_fail_die_or_run_twice_lose_and_repeat_nothing(
    spark: Any, tmp_path: Path, native: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def unlucky(shares: Iterable[Share]) -> Iterator[Answer]:
        for share in shares:
            name = Path(share.log.place.path).name
            (answer,) = write_share([share])
            if not (marks / name).exists():
                (marks / name).touch()
                if name.endswith(("1", "4")):
                    raise RuntimeError("the machine is gone, and all files were written")
                if name.endswith("2"):
                    os.kill(os.getpid(), signal.SIGKILL)
                (answer,) = write_share([share])
            yield answer

    monkeypatch.setattr(engine, "write_share", unlucky)
    on_spark(spark, SHOP, tmp_path / "spark")
    assert len(list(marks.iterdir())) == len(LOGS)
    assert tree(tmp_path / "spark") == native


def test_where_tasks_always_fail_nothing_is_committed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless(shares: Iterable[Share]) -> Iterator[Answer]:
        yield from write_share(shares)
        raise RuntimeError("out of luck")

    monkeypatch.setattr(engine, "write_share", hopeless)
    with pytest.raises(BinxError, match="Spark failed: RuntimeError: out of luck"):
        on_spark(spark, LOGS[0], tmp_path)
    assert tree(tmp_path) == {"_lock": b""}
    assert not (tmp_path / "_staging").exists()


def test_logs_before_a_damaged_one_are_committed_and_it_is_reported(spark: Any, tmp_path: Path) -> None:
    logs = [tmp_path / log.name for log in LOGS[:3]]
    for log in logs:
        shutil.copy(SHOP / log.name, log)
    logs[1].write_bytes(logs[1].read_bytes()[:-500])
    for folder, export in (("spark", lambda *of: on_spark(spark, *of)), ("native", natively)):
        with pytest.raises(TruncatedError, match=r"mysql-bin\.000002, offset \d+"):
            export(logs, tmp_path / folder)
    assert tree(tmp_path / "spark") == tree(tmp_path / "native")
    assert len(list((tmp_path / "spark" / "_manifest").iterdir())) == 1


def test_logs_are_read_at_uris(spark: Any, tmp_path: Path, native: dict[str, bytes]) -> None:
    with open_chain([log.as_uri() for log in LOGS]) as chain:
        list(to_parquet_on_spark(spark, [ends.file for ends in chain], tmp_path))
    assert tree(tmp_path) == native


@pytest.mark.parametrize("limit", [3, 150, 100_000])
def test_a_limit_holds_over_all_logs(spark: Any, tmp_path: Path, limit: int) -> None:
    selection = Selection(limit=limit, tables=("*.orders*",), min_bytes=200)
    expected = natively(SHOP, tmp_path / "native", selection)
    for _ in range(2):
        on_spark(spark, SHOP, tmp_path / "spark", selection)
        assert tree(tmp_path / "spark") == expected


def test_rows_that_are_chosen_up_to_a_limit_are_left_to_the_native_engine(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--where with --limit has to count"):
        on_spark(spark, LOGS[0], tmp_path, where=Condition("id = 1"), where_limit=3)


@pytest.mark.parametrize(
    "damage",
    [
        "statement",
        "header",
        *(pytest.param(kind, marks=pytest.mark.sweep) for kind in ("checksum of rows", "cut")),
    ],
)
def test_damage_is_salvaged_as_natively_and_what_comes_after_is_read_as_it_is_then(
    spark: Any, tmp_path: Path, damage: str
) -> None:
    logs = [tmp_path / log.name for log in LOGS]
    for log in logs:
        shutil.copy(SHOP / log.name, log)
    content = bytearray(logs[1].read_bytes())
    with open_chain([str(logs[1])]) as chain:
        tables = list(find_transactions(chain[0].file, Level.LEVEL_TABLES))
    starts = {
        kind: table.value("start", index)
        for table in tables
        for index in range(len(table))
        for kind in (["statement"] if table.value("statements", index) else ["rows"])
    }
    if damage == "cut":
        del content[-500:]
    elif damage == "header":
        content[starts["rows"] + 9 : starts["rows"] + 13] = b"\xff\xff\xff\x7f"
    else:
        place = starts["statement" if damage == "statement" else "rows"]
        content[place + 60] ^= 0xFF
    logs[1].write_bytes(content)
    options = ParquetOptions(on_damage=OnDamage.SALVAGE)
    with open_chain([str(log) for log in logs], on_damage=OnDamage.SALVAGE) as chain:
        files = [ends.file for ends in chain]
        list(to_parquet(files, tmp_path / "native", options=options))
        for _ in range(2):
            done = list(to_parquet_on_spark(spark, files, tmp_path / "spark", options=options))
            assert tree(tmp_path / "spark") == tree(tmp_path / "native")
    assert [bool(one.manifest["damage"]) for one in done][:2] == [False, True]


def test_what_executors_lack_is_reported_once_for_each_host() -> None:
    import pyarrow

    right = {"error": None, "binx": __version__, "pyarrow": pyarrow.__version__, "unseen": []}
    answers = [
        {"host": "a", "python": "/usr/bin/python3", "error": "No module named 'binx'", "unseen": []},
        {"host": "a", "python": "/usr/bin/python3", "error": "No module named 'binx'", "unseen": []},
        {"host": "b", **right, "binx": "0.0.9", "pyarrow": "18.0.0"},
        {"host": "c", **right, "unseen": ["/backup/mysql-bin.000001"]},
        {"host": "d", **right},
    ]
    assert problems(answers) == [
        "a: /usr/bin/python3 cannot import binx (No module named 'binx')",
        f"b: has binx 0.0.9, the driver has {__version__}",
        f"b: has pyarrow 18.0.0, the driver has {pyarrow.__version__}",
        "c: /backup/mysql-bin.000001 does not exist;"
        " logs and output must be at the same path on all machines",
    ]
