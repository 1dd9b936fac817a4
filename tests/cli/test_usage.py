"""Command lines that cannot be understood, help, manual pages, completion, and what a start loads."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow
import pytest

from binx import __version__
from binx.cli.application import ENTRIES
from binx.cli.manpages import pages, write_pages
from binx.kernels.crc32 import backend
from binx.stats.dimensions import Dimension
from binx.stats.event_list import PLAIN_EVENT_COLUMNS
from binx.stats.lines import ALIASES, COLUMNS
from tests.cli.conftest import Shop
from tests.cli.forking import forking
from tests.cli.process import binx, environment
from tests.conftest import PROJECT, TESTDATA


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extrct"], "there is no command 'extrct'; did you mean extract?"),
        (["to-parqet", "x"], "to-parquet"),
        (["zzz"], "there is no command 'zzz'\n"),
        (["--verison"], "--version"),
        (["extract", "--gtdi", "x", "f"], "--gtid"),
        (["ls", "--sotr", "bytes", "f"], "--sort"),
        (["ls", "--hepl", "f"], "no such option '--hepl'\n"),
        (["ls", "--tabel", "x", "f"], "no such option '--tabel'; did you mean --table?\n"),
        (["ls", "-Z", "f"], "no such option '-Z'\n"),
        (
            ["show", "--base64-output=decode-rows", "f"],
            "no such option '--base64-output'; binx show prints row",
        ),
        (["extract", "-R", "f"], "no such option '-R'; binx pull mysql:"),
        (["ls", "--sort", "colour", "f"], "expected one of log, bytes, rows, time, duration, size"),
        (["ls", "--sort", "log:desc", "f"], "log order has no direction"),
        (["ls", "--columns", "time,colour", "f"], "found 'colour'"),
        (["ls", "--tz", "Mars", "f"], "expected a time zone such as UTC"),
        (["ls"], "FILE"),
        (["ls", ""], "expected a path, found an empty text"),
        (["ls", "--index-dir", "", "f"], "'--index-dir': expected a path"),
        (["extract", "-o", "", "f"], "'--output': expected a path"),
        (["to-parquet", "-o", "", "f"], "'--output': expected a path"),
        (["archive", "--to", "", "f"], "'--to': expected a path"),
        (["load", "--output", "", "lake"], "'--output': expected a path"),
        (["completion"], "Choose from: bash, zsh, fish\n"),
        (["extract", "--gtid", "bla", "f"], "'--gtid': expected a server UUID"),
        (["extract", "--gtid", "", "f"], "expected a GTID set, found an empty text"),
        (["extract", "--since", "tomorrow", "f"], "'--since': expected a time such as"),
        (["extract", "--start-position", "x:y", "f"], "'--start-position': expected a position"),
        (["extract", "--min-bytes", "12Q", "f"], "expected a number of bytes"),
        (["extract", "--fragment-bytes", "9", "f"], "--fragment-bytes applies only to --format thl"),
        (["extract", "--format", "thl", "--fragment-bytes", "0", "f"], "at least 1 byte"),
        (["extract", "--limit", "0", "f"], "'--limit': expected a limit of at least 1 transaction, found 0"),
        (["extract", "--thread-id", "-3", "f"], "expected a whole number of at most 64 bits, found -3"),
        (["extract", "--since", "2026-02-01", "--until", "2026-01-01", "f"], "expected a time span"),
        (["to-parquet", "f"], "'--output'"),
        (["to-parquet", "-o", "x", "--memory", "1", "f"], "1 is not in the range 16<=x"),
        (["to-parquet", "-o", "x", "--master", "local", "f"], "--master applies only to --engine spark"),
        (["load", "--output", "x"], "expected a data set written by to-parquet"),
        (["load", "--input", "x"], "expected --output"),
        (["load", "--status"], "expected one folder of tables with --status"),
        (["load", "--status", "x", "y"], "expected one folder of tables with --status"),
        (["load", "--input", "x", "--output", "y", "--conf", "novalue"], "expected NAME=VALUE"),
        (["ls", "-", "-"], "standard input (-) can be read only once"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said(arguments: list[str], said: str) -> None:
    ended = binx(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("binx: error: ")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_the_message_names_the_help_that_says_more() -> None:
    assert binx("extract", "--gtdi", "x").err.endswith("Try: binx extract --help\n")
    assert binx("nothing").err.endswith("Try: binx --help\n")


def test_sizes_take_binary_units(shop: Shop) -> None:
    by_unit = binx("ls", "--min-bytes", "4K", *shop.logs)
    assert by_unit == binx("ls", "--min-bytes", "4096", *shop.logs)
    assert 0 < len(by_unit.lines) < 10


HEAVY = {"pyarrow", "rich", "sqlglot", "pyspark", "pandas", "numpy", "duckdb"}

RARE = {"subprocess", "tempfile", "tomllib", "zstandard"}
"""What only other files need than plain logs: each would take a hundredth of a short command, or more."""


@cache
def modules_of_python() -> set[str]:
    """Names of the modules that Python has imported before any program."""
    return set(_run("import sys\nprint(*sys.modules, sep='\\n')").stdout.split())


def modules_after(*arguments: str | Path) -> set[str]:
    """Names of all modules that a command line has imported when it ends."""
    program = (
        "import sys\nfrom binx.cli.main import main\ntry:\n    main()\n"
        "finally:\n    print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    return set(_run(program, *arguments).stderr.split()) - modules_of_python()


def _run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program without ``site``: the finder of an editable install loads what users do not load."""
    return subprocess.run(
        [sys.executable, "-S", "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT), *sys.path]))},
    )


def test_extracting_by_gtid_loads_nothing_heavy(shop: Shop, tmp_path: Path) -> None:
    output = tmp_path / "one.binlog"
    loaded = modules_after("extract", "--gtid", shop.demo["gtid"], *shop.logs, "-o", output, "--quiet")
    assert output.stat().st_size > 0
    assert not loaded & (HEAVY | RARE)


@pytest.mark.parametrize("command", ["ls", "stats --json"])
def test_listings_and_figures_load_nothing_heavy(command: str, shop: Shop) -> None:
    assert not modules_after(*command.split(), "--quiet", shop.logs[0]) & (HEAVY | RARE)


@pytest.mark.parametrize("command", ["show", "extract --format json -o -", "extract --format sql -o -"])
def test_what_has_no_condition_loads_no_parser_of_conditions(command: str, shop: Shop) -> None:
    assert "sqlglot" not in modules_after(
        *command.split(), "--quiet", "--kind", "dml", "--limit", "1", shop.logs[0]
    )


def test_verifying_loads_nothing_heavy_unless_values_are_decoded() -> None:
    log = TESTDATA / "mysql-9.7" / "small" / "anonymous_gtids.binlog"
    assert not modules_after("verify", "--quiet", log) & (HEAVY | RARE)


@pytest.mark.parametrize(
    "command",
    [
        "to-parquet",
        "index",
        "extract --format=sql",
        "extract --format=sql --reverse --kind=dml",
        "extract --format=json",
        "extract --format=thl",
        "show",
    ],
)
def test_nothing_loads_pandas_or_spark(command: str, shop: Shop, tmp_path: Path) -> None:
    small = (TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog" for name in ("charsets", "members"))
    for number, log in enumerate((shop.logs[0], *small)):
        output = () if command == "show" else ("-o", tmp_path / f"out{number}")
        loaded = modules_after(*command.split(), "--quiet", log, *output)
        assert not loaded & {"pandas", "binx.spark"}
        assert "pyarrow" in loaded


@pytest.mark.parametrize("command", [entry.name for entry in ENTRIES])
def test_help_of_a_command_loads_no_other_command(command: str) -> None:
    loaded = modules_after(command, "--help")
    modules = {entry.name: f"binx.cli.commands.{entry.name.replace('-', '_')}" for entry in ENTRIES}
    assert loaded & set(modules.values()) == {modules[command]}
    # What makes or reads index files needs Arrow for all that it does.
    assert not loaded & (HEAVY - {"pyarrow", "numpy"})


def test_the_overview_names_every_command_and_fits_60_columns() -> None:
    shown = binx()
    assert shown.code == 0
    assert shown.out == binx("--help").out == binx("help").out
    assert all(f"  {entry.name} " in shown.out for entry in ENTRIES)
    assert max(map(len, shown.lines)) <= 60


def test_version() -> None:
    assert binx("--version") == binx("--version", env={"NO_COLOR": "1"})
    first, second = binx("--version").lines
    assert first == f"binx {__version__}"
    assert f"Python {platform.python_version()}, CRC32 by {backend()}, " in second
    assert f"pyarrow {pyarrow.__version__}" in second
    assert not modules_after("--version") & (HEAVY | RARE)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_help_of_a_command_ends_with_examples(entry: object) -> None:
    name = entry.name  # type: ignore[attr-defined]
    shown = binx(name, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == binx("help", name).out
    assert shown.out.startswith(f"Usage: binx {name}")
    _, _, examples = shown.out.partition("\nExamples:\n")
    assert "  # " in examples
    assert name in examples


_OPTION = re.compile(r"^  (-\S+(?:, -\S+)*)", re.MULTILINE)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_brief_help_has_fifteen_options_and_two_examples(entry: object) -> None:
    name = entry.name  # type: ignore[attr-defined]
    brief, whole = binx(name, "-h"), binx(name, "--help")
    assert (brief.code, brief.err) == (0, "")
    options, examples = brief.out.split("\nExamples:\n")
    shown = _OPTION.findall(options)
    assert len(shown) <= 15
    assert examples.count("\n  binx ") <= 2
    if brief.out != whole.out:
        assert set(shown) <= set(_OPTION.findall(whole.out))
        assert brief.lines[-1] == f"All options and examples: binx {name} --help"


DOCS = PROJECT / "docs"
MAN = PROJECT / "man"
NAMES = [
    "binx.1",
    *(f"binx-{entry.name}.1" for entry in ENTRIES),
    "binx-json.5",
    "binx-parquet.5",
    "binx-index-file.5",
]


def test_there_is_a_page_for_every_command() -> None:
    assert sorted(pages(MAN / "text", DOCS)) == sorted(NAMES)


def groff(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run groff, without a sanitizer that this process may have: it is not the program that is looked at."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        ["groff", "-man", *arguments], capture_output=True, text=True, env=plain, check=False
    )


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    shutil.copytree(MAN / "text", folder / "text")
    # A process of its own, as `make man` has.
    subprocess.run([sys.executable, "-m", "binx.cli.manpages", folder, DOCS], cwd=PROJECT, check=True)
    return folder


def test_the_pages_here_are_those_that_the_commands_give(manuals: Path) -> None:
    """`make man` writes them again."""
    committed = {path.name: path.read_text("utf-8") for path in MAN.glob("*.[15]")}
    assert {path.name: path.read_text("utf-8") for path in manuals.glob("*.[15]")} == committed


@pytest.mark.parametrize(("shell", "name"), [("bash", "binx"), ("zsh", "_binx"), ("fish", "binx.fish")])
def test_the_completion_scripts_here_are_those_that_the_command_prints(shell: str, name: str) -> None:
    """`make man` writes them again; a wheel installs them."""
    assert binx("completion", shell).out == (MAN / "completions" / name).read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_groff_has_nothing_to_say(name: str, manuals: Path) -> None:
    done = groff("-ww", "-z", "-Tutf8", str(manuals / name))
    assert (done.returncode, done.stderr) == (0, "")


def test_text_comes_out_as_it_was_written(manuals: Path) -> None:
    done = groff("-Tascii", "-P-cbou", str(manuals / "binx-extract.1"))
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    assert "--exclude-gtid, --exclude-gtids SET" in shown
    assert "* and ? match: 'shop.*'." in shown
    assert (
        "binx extract --since '2026-11-21 09:30' --until '2026-11-21 09:45' --table shop.orders \\" in shown
    )


def test_pages_of_commands_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "binx-gone.1").touch()
    (tmp_path / "binx-gone.5").touch()
    (tmp_path / "other.1").touch()
    shutil.copytree(MAN / "text", tmp_path / "text")
    write_pages(tmp_path, DOCS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, "other.1", "text"])


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("events", PLAIN_EVENT_COLUMNS),
        ("ls", [*COLUMNS, *ALIASES]),
        ("stats", [one.value for one in Dimension]),
    ],
)
def test_a_page_lists_all_names_that_there_are(command: str, names: Sequence[str]) -> None:
    text = (MAN / "text" / f"{command}.md").read_text("utf-8")
    assert [name for name in names if name not in text] == []


CALL = """
eval "$(binx completion bash)"
compopt() { :; }
COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_binx_completion binx
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a ``binx`` that is the one at test."""
    program = tmp_path / "binx"
    program.write_text(forking().stand_in())
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def completed(line: str, path: str) -> list[str]:
    """What bash offers at the end of a line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [bash, "--norc", "-c", CALL, "bash", line],
        env=environment({"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("binx ex", ["extract"]),
        ("binx extract --exc", ["--exclude-gtid", "--exclude-gtids", "--exclude-table"]),
        ("binx extract --format s", ["sql"]),
        ("binx to-parquet --compression z", ["zstd"]),
        ("binx completion f", ["fish"]),
        ("binx stats --by ta", ["table"]),
        ("binx stats --by hour,ta", ["hour,table"]),
        ("binx ls --sort du", ["duration"]),
        ("binx ls --sort si", ["size"]),
        ("binx extract --kind xa_", ["xa_prepare", "xa_commit", "xa_rollback"]),
        ("binx show --kind ddl,d", ["ddl,dml", "ddl,ddl"]),
        ("binx ls --columns time,thr", ["time,thread_id", "time,thread"]),
        ("binx ls --tz Europe/Berl", ["Europe/Berlin"]),
        ("binx extract --tz UT", ["UTC"]),
    ],
)
def test_commands_options_and_words(line: str, offered: list[str], path: str) -> None:
    assert completed(line, path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_can_read(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(binx("completion", shell).out)
    assert "binx" in script.read_text()
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
