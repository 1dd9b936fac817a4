"""``binx index``, and what other commands make of index files."""

from __future__ import annotations

import json
import shutil
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, binx_with
from tests.cli.test_usage import HEAVY, modules_after
from tests.conftest import TESTDATA


@pytest.fixture
def logs(shop: Shop, tmp_path: Path) -> list[Path]:
    """Copies of two logs, in a folder of their own."""
    return [Path(shutil.copy(log, tmp_path)) for log in shop.logs[1:3]]


@pytest.fixture(scope="module")
def indexed(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Copies of all logs with their index files, which no test changes."""
    folder = tmp_path_factory.mktemp("indexed")
    copies = [Path(shutil.copy(log, folder)) for log in shop.logs]
    assert binx("index", *copies).code == 0
    return copies


def states(*arguments: str | Path) -> list[str]:
    """The states that a run tells."""
    return [json.loads(line)["state"] for line in binx("index", "--json", *arguments).lines]


def test_index_files_are_written_once(logs: list[Path]) -> None:
    assert states(*logs) == ["written", "written"]
    index = logs[0].with_name(f"{logs[0].name}.binx")
    before = index.stat()
    assert states(*logs) == ["true", "true"]
    assert index.stat().st_ino == before.st_ino
    assert states("--force", *logs) == ["written", "written"]
    assert index.stat().st_ino != before.st_ino
    assert sorted(path.name for path in logs[0].parent.iterdir()) == sorted(
        name for log in logs for name in (log.name, f"{log.name}.binx")
    )


def test_check_writes_nothing_and_tells_what_is_missing(logs: list[Path]) -> None:
    ended = binx("index", "--check", *logs)
    assert ended.code == 4
    assert [line.rpartition(": ")[2] for line in ended.lines] == ["absent", "absent"]
    assert not list(logs[0].parent.glob("*.binx"))
    binx("index", *logs)
    assert binx("index", "--check", *logs).code == 0


def test_check_tells_stale_from_damaged(logs: list[Path]) -> None:
    binx("index", *logs)
    with logs[0].open("ab") as file:
        file.write(b"\0")
    index = logs[1].with_name(f"{logs[1].name}.binx")
    index.write_bytes(index.read_bytes()[:-1])
    ended = binx("index", "--check", "--json", *logs)
    assert ended.code == 4
    told = [json.loads(line) for line in ended.lines]
    assert [one["state"] for one in told] == ["stale", "damaged"]
    assert "update it with binx index" in told[0]["problem"]


def test_index_files_are_made_anew_where_the_log_has_changed(logs: list[Path], shop: Shop) -> None:
    binx("index", logs[0])
    shutil.copy(shop.logs[3], logs[0])
    assert states(logs[0]) == ["written"]
    assert states("--check", logs[0]) == ["true"]


def test_a_damaged_log_gets_none_and_the_others_do(logs: list[Path]) -> None:
    data = bytearray(logs[0].read_bytes())
    data[len(data) // 2] ^= 0xFF
    logs[0].write_bytes(data)
    ended = binx("index", *logs)
    assert ended.code == 1
    assert str(logs[0]) in ended.err
    assert sorted(path.name for path in logs[0].parent.glob("*.binx")) == [f"{logs[1].name}.binx"]


def test_a_folder_of_index_files_is_made_and_found(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "indexes"
    assert binx("index", "-o", folder, *shop.logs).code == 0
    assert len(list(folder.iterdir())) == len(shop.logs)
    with_option = binx("ls", "--index-dir", folder, "--quick", *shop.logs)
    in_environment = binx("ls", "--quick", *shop.logs, env={"BINX_INDEX_DIR": str(folder)})
    assert with_option.out == in_environment.out == binx("ls", *shop.logs).out
    assert with_option.err == in_environment.err == ""


def test_a_pattern_that_matches_index_files_means_the_logs(indexed: list[Path], shop: Shop) -> None:
    every = sorted(indexed[0].parent.iterdir())
    assert len(every) == 2 * len(indexed)
    assert binx("ls", *every).out == binx("ls", *shop.logs).out
    ended = binx("ls", *(path for path in every if path.suffix == ".binx"))
    assert ended.code == 2
    assert "only index files" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls",),
        ("ls", "--json"),
        ("ls", "--sort", "rows", "--limit", "7"),
        ("ls", "--table", "shop.orders", "--limit", "20"),
        ("ls", "--json", "--min-bytes", "20000"),
        ("extract", "--format", "binlog", "--table", "shop.order*"),
        ("extract", "--table", "shop.orders", "--where", "status = 'paid'"),
        ("extract", "--format", "json", "--rows", "--limit", "30"),
        ("extract", "--format", "sql", "--limit", "30"),
    ],
    ids=" ".join,
)
def test_answers_are_the_same_with_index_files(
    arguments: tuple[str, ...], indexed: list[Path], shop: Shop
) -> None:
    with_index, without = binx(*arguments, *indexed), binx(*arguments, "--no-index", *indexed)
    assert without.out
    assert (with_index.code, with_index.out, with_index.err) == (without.code, without.out, without.err)


@pytest.mark.parametrize("arguments", [("ls", "--json"), ("stats", "--json")], ids=" ".join)
def test_a_quick_look_at_index_files_knows_all(arguments: tuple[str, ...], indexed: list[Path]) -> None:
    assert binx(*arguments, "--quick", *indexed).out == binx(*arguments, "--no-index", *indexed).out


def test_one_transaction_is_cut_out_without_anything_heavy(
    indexed: list[Path], shop: Shop, tmp_path: Path
) -> None:
    slices = [tmp_path / name for name in ("with", "without")]
    loaded = modules_after("extract", "--gtid", shop.demo["gtid"], *indexed, "-o", slices[0], "--quiet")
    binx("extract", "--no-index", "--gtid", shop.demo["gtid"], *indexed, "-o", slices[1])
    assert "binx.log.index.file" not in loaded, "a plain log is searched faster without"
    assert not loaded & HEAVY
    assert slices[0].read_bytes() == slices[1].read_bytes()


def test_a_stale_index_file_gives_one_line_and_the_right_answer(logs: list[Path], shop: Shop) -> None:
    binx("index", logs[0])
    shutil.copy(shop.logs[3], logs[0])
    ended = binx("ls", logs[0])
    assert len(ended.err.splitlines()) == 1
    assert "the index file is not used" in ended.err
    assert ended.out == binx("ls", "--no-index", logs[0]).out
    assert binx("ls", "--quiet", logs[0]).err == ""
    assert binx("ls", "--no-index", logs[0]).err == ""


def test_a_run_that_is_killed_leaves_no_index_file_and_the_next_one_makes_it(
    shop: Shop, tmp_path: Path
) -> None:
    log = Path(shutil.copy(shop.logs[2], tmp_path))
    index = tmp_path / f"{log.name}.binx"
    whole = tmp_path / "whole"
    binx("index", "-o", whole, log)
    (expected,) = whole.iterdir()
    # The process ends itself, as by kill -9, at each write in turn; the last one tells what was written.
    for number in count(1):
        kill = (
            f"from binx.storage import output\nwrite, left = output.OutputStream.write, [{number}]\n"
            "def dying(self, data):\n    left[0] -= 1\n"
            "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n    return write(self, data)\n"
            "output.OutputStream.write = dying"
        )
        assert binx_with(kill, "index", log).code == -signal.SIGKILL
        if index.exists():
            break
    assert number > 3
    assert index.read_bytes() == expected.read_bytes()
    index.unlink()
    assert binx("index", log).code == 0
    assert index.read_bytes() == expected.read_bytes()


def test_standard_input_and_contradictions_are_refused(logs: list[Path]) -> None:
    assert binx("index", "-", stdin=logs[0].read_bytes()).code == 2
    assert binx("index", "--check", "--force", *logs).code == 2


def test_a_folder_in_an_object_store_is_refused_and_none_made_of_its_name(
    logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    run = binx("index", "-o", "s3://bucket/indexes", *logs)
    assert run.code == 2
    assert "expected a local folder, found s3://bucket/indexes" in run.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_relay_log_that_begins_inside_a_transaction_gets_no_index_file(tmp_path: Path) -> None:
    path = TESTDATA / "mariadb-10.11" / "relay" / "relay-bin.000003"
    done = binx("index", "-o", str(tmp_path), str(path))
    assert done.code == 1
    assert "inside a transaction of the log before it, relay-bin.000002; an index file" in done.err
    assert not list(tmp_path.iterdir())
