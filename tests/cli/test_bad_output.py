"""Outputs that cannot be written, and ends from outside: no traceback, and no half-written file."""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from binx.dataset import options
from tests.cli.conftest import Shop
from tests.cli.process import BINX, binx, binx_with, environment
from tests.sanitizers import SANITIZED

RAISED = re.compile(r"binx: interrupted(; [\d.]+ [KM]?i?B of [\d.]+ [KM]?i?B done)?\n")
"""How far it got is told where it is known."""


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_extract_on_a_full_disk_leaves_nothing(shop: Shop, small_disk: Path) -> None:
    ended = binx("extract", *shop.logs, "-o", small_disk / "all.binlog")
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert f"no space left on the file system of {small_disk}" in ended.err
    assert files_in(small_disk) == set()


def test_extract_on_a_full_disk_keeps_what_was_there(shop: Shop, small_disk: Path) -> None:
    (small_disk / "all.binlog").write_bytes(b"as it was")
    assert binx("extract", "--force", *shop.logs, "-o", small_disk / "all.binlog").code == 1
    assert (small_disk / "all.binlog").read_bytes() == b"as it was"
    assert files_in(small_disk) == {"all.binlog"}


def test_to_parquet_on_a_full_disk_commits_nothing(shop: Shop, small_disk: Path) -> None:
    ended = binx("to-parquet", *shop.logs, "-o", small_disk / "lake")
    assert ended.code == 1
    assert f"no space left on the file system of {small_disk}" in ended.err
    assert ended.err.count("\n") == 1
    assert not [name for name in files_in(small_disk) if name.endswith((".parquet", ".json"))]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["ls"], ["ls", "--json"], ["stats"], ["extract"], ["--help"]], ids=" ".join
)
def test_full_standard_output(shop: Shop, arguments: list[str]) -> None:
    files = [] if arguments == ["--help"] else [str(log) for log in shop.logs]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*BINX, *arguments, *files], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("binx: error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["ls", "stats", "show", "verify"])
def test_a_command_that_prints_needs_a_standard_output(shop: Shop, command: str) -> None:
    done = shell(f'"$@" {command} {quoted(shop.logs[0])} >&-')
    assert (done.returncode, done.stderr) == (
        1,
        "binx: error: -: cannot be written: standard output is closed\n",
    )


@pytest.mark.parametrize("streams", [">&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"])
def test_what_is_written_to_files_needs_no_standard_streams(shop: Shop, tmp_path: Path, streams: str) -> None:
    place = tmp_path / "closed.sql"
    done = shell(f'"$@" extract --format sql {quoted(shop.logs[0], "-o", place)} {streams}')
    assert done.returncode == 0, done.stderr
    assert place.read_text() == binx("extract", "--format", "sql", shop.logs[0]).out


def quoted(*arguments: str | Path) -> str:
    """Arguments as a shell reads them."""
    return shlex.join(map(str, arguments))


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Have a shell run binx, which is its ``$@``."""
    return subprocess.run(
        ["sh", "-c", command, "sh", *BINX], capture_output=True, text=True, env=environment(), check=False
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems limit memory in other ways")
@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more addresses than are left")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_system_that_starts_no_more_threads(shop: Shop, tmp_path: Path, jobs: str) -> None:
    """It is asked for with stacks larger than all memory that the process may have."""
    limits = "ulimit -s 8000000; ulimit -v 4000000"
    done = shell(f'{limits}; "$@" to-parquet --jobs {jobs} {quoted(shop.logs[0], "-o", tmp_path / jobs)}')
    if jobs == "1":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        # Arrow's allocator may say before that it would have liked a thread too.
        assert done.stderr.splitlines()[-1] == (
            "binx: error: cannot start more threads (can't start new thread); use --jobs 1, or raise the"
            " limits on processes and memory (ulimit -u, ulimit -v)"
        )


def test_one_log_at_a_time_is_decoded_where_addresses_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "usable_processors", lambda: 4)
    assert options.ParquetOptions().jobs_here == 2
    monkeypatch.setattr(resource, "getrlimit", lambda _: (500 << 20, 500 << 20))
    assert options.ParquetOptions().jobs_here == 1
    assert options.ParquetOptions(jobs=3).jobs_here == 3


def test_extract_does_not_write_over_a_log_that_it_reads(shop: Shop, tmp_path: Path) -> None:
    log = tmp_path / "mysql-bin.000001"
    shutil.copy(shop.logs[0], log)
    (tmp_path / "other-name").symlink_to(log)
    before = log.read_bytes()
    for output in (log, tmp_path / "other-name"):
        ended = binx("extract", "--limit", "1", log, "-o", output)
        assert (ended.code, "is one of the input logs" in ended.err) == (1, True)
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [["ls"], ["ls", "--json"], ["stats"], ["stats", "--json"], ["extract"], ["--help"]],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_error(shop: Shop, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    files = [] if arguments == ["--help"] else [str(log) for log in shop.logs]
    done = subprocess.run(
        [*BINX, *arguments, *files], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_head_ends_a_listing_quietly(shop: Shop) -> None:
    command = f"{' '.join(BINX)} ls {' '.join(map(str, shop.logs * 1))} | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
@pytest.mark.parametrize("command", ["ls", "stats", "extract"])
def test_a_signal_while_standard_input_is_read(
    command: str, number: signal.Signals, said: str, tmp_path: Path
) -> None:
    """The pipe's writer never ends: whenever the signal comes, the input is being read or is yet to be."""
    process = subprocess.Popen(
        [*BINX, command, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"TMPDIR": str(tmp_path)}),
        text=False,
    )
    assert process.stdin is not None
    # More than a pipe holds: when all of it is taken, the process is reading.
    process.stdin.write(b"\xfebin" + bytes(1 << 20))
    process.stdin.flush()
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number
    assert err.decode() == f"binx: {said}\n"
    assert not list(tmp_path.iterdir())


def test_an_interrupt_while_the_program_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = binx("--version", env={"PYTHONPATH": str(tmp_path)}, prefix=["env"])
    assert (ended.code, ended.out, ended.err) == (130, "", "binx: interrupted\n")


def test_a_signal_while_a_listing_is_written(shop: Shop) -> None:
    process = subprocess.Popen(
        [*BINX, "ls", "--json", *map(str, shop.logs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    # The first line is there, and all of them are more than a pipe holds: the process waits in a write.
    assert process.stdout.readline().startswith("{")
    process.send_signal(signal.SIGINT)
    process.wait()
    assert process.returncode == 130
    _, err = process.communicate()
    assert RAISED.fullmatch(err)


def test_ctrl_c_while_a_slice_is_written_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "all.binlog"
    target.write_bytes(b"as it was")
    interrupt = (
        "from binx.slices import slice_writer\n"
        "write = slice_writer.SliceWriter._copy_ranges\n"
        "def copy_ranges(self, ranges):\n"
        "    write(self, ranges)\n"
        "    assert [name for name in os.listdir() if name.startswith('.binx-')]\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "slice_writer.SliceWriter._copy_ranges = copy_ranges"
    )
    ended = binx_with(interrupt, "extract", "--force", *shop.logs, "-o", target, cwd=tmp_path)
    assert ended.code == 130
    assert RAISED.fullmatch(ended.err)
    assert target.read_bytes() == b"as it was"
    assert files_in(tmp_path) == {"all.binlog"}


def test_ctrl_c_while_parquet_is_written_leaves_what_was_committed(shop: Shop, tmp_path: Path) -> None:
    interrupt = (
        "from binx.dataset import parquet\n"
        "commit = parquet.commit_staged\n"
        "done = []\n"
        "def interrupted(transaction, staged):\n"
        "    if len(done) == 1:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    done.append(commit(transaction, staged))\n"
        "parquet.commit_staged = interrupted"
    )
    ended = binx_with(interrupt, "to-parquet", *shop.logs, "-o", tmp_path / "lake")
    assert ended.code == 130
    assert RAISED.fullmatch(ended.err)
    assert "done" in ended.err
    names = files_in(tmp_path / "lake")
    assert len([name for name in names if name.startswith("_manifest/")]) == 1
    assert not [name for name in names if "mysql-bin.000002" in name]
    assert ended.lines[0].startswith("mysql-bin.000001.")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ("MemoryError", 1, "binx: error: out of memory"),
        (
            "OSError(5, 'Input/output error', 'disk')",
            1,
            "binx: error: disk: the system says: Input/output error",
        ),
        ("ZeroDivisionError('by nought')", 1, "this is a bug in binx (ZeroDivisionError: by nought)"),
    ],
)
def test_what_nobody_foresaw_is_one_line(shop: Shop, error: str, code: int, said: str) -> None:
    raising = (
        "from binx.stats import listing\n"
        f"def fail(*_, **__):\n    raise {error}\nlisting.Listing.__init__ = fail"
    )
    ended = binx_with(raising, "ls", shop.logs[0])
    assert (ended.code, ended.err.count("\n")) == (code, 1)
    assert said in ended.err


def test_a_traceback_is_shown_on_request(shop: Shop) -> None:
    ended = binx("ls", "no.such", env={"BINX_TRACEBACK": "1"})
    assert ended.code == 1
    assert ended.err.startswith("binx: error: no.such: cannot be opened")
    assert "Traceback" in ended.err


def test_a_binary_log_is_never_written_to_a_terminal(shop: Shop) -> None:
    from tests.cli.process import on_terminal

    ended = on_terminal("extract", shop.logs[0], width=80)
    assert ended.code == 1
    assert ended.out.startswith("binx: \x1b[1;31merror:\x1b[0m binary output is not written to a terminal")


COMMANDS = {
    "extract": ["extract", "--limit", "3", "-o", "out"],
    "sql": ["extract", "--limit", "3", "--format", "sql", "-o", "out.sql"],
    "index": ["index", "-o", "indexes"],
    "to-parquet": ["to-parquet", "-o", "lake"],
    "archive": ["archive", "--to", "archive"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_files_and_folders_follow_the_umask(name: str, shop: Shop, tmp_path: Path) -> None:
    ended = binx_with("os.umask(0o027)", *COMMANDS[name], shop.logs[0], cwd=tmp_path)
    assert ended.code == 0, ended.err
    written = list(tmp_path.rglob("*"))
    assert written
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == (0o750 if path.is_dir() else 0o640), path


@pytest.mark.parametrize(
    "command",
    [
        ["state", "--table", "shop.orders", "--format", "csv"],
        ["extract", "--reverse", "--format", "binlog", "--table", "shop.orders", "--kind", "dml", "-o", "-"],
    ],
)
def test_temporary_files_without_space_tell_their_folder(
    command: list[str], shop: Shop, small_disk: Path
) -> None:
    ended = binx(*command, *shop.logs, env={"TMPDIR": str(small_disk)})
    assert ended.code == 1
    assert str(small_disk) in ended.err or "TMPDIR names" in ended.err
    assert files_in(small_disk) == set()
