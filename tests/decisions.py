"""What decides where: the owners of the decisions that must have one, from the code's syntax trees.

``python -m tests.decisions`` prints, for each such decision, the modules that take it, how many of binx's
files two commands run, which class names stand for several things, and which file names for several files.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "binx"
GTID = "bf1c133d-e590-11f1-8de0-02fc00000001:375"
LOG = "testdata/mysql-9.7/shop/mysql-bin.000002"

ORDER_OF_LOGS = {
    "begun",
    "created",
    "ended",
    "next_log",
    "number",
    "previous_gtids",
    "gtids_before",
}
"""What a log says of its place among others: who compares these of two logs decides which follows which.

A server's id alone tells one server from another, and no order.
"""

TIME = "time"
"""When a log of a load began; compared with anything but another one's, it is some other time."""

STATEMENTS = {
    "AddColumn", "ChangeColumn", "RenameColumn", "DropColumn", "AlterColumn", "ConvertCharset", "RenameTo",
    "AlterTable", "CreateTable", "RenameTables", "DropTables", "TruncateTable", "DropDatabase",
}  # fmt: skip
"""Parsed DDL: who tells these apart decides what a statement did."""

LOCKS = {"flock", "lockf", "LOCK_EX", "LOCK_NB"}

QUOTES = {"''", "\\'", "X'", "x'"}
"""What a literal of SQL is made of: who writes these decides how a value is written."""

DECODER = "ChangeDecoder"


def modules() -> dict[str, ast.Module]:
    return {
        path.relative_to(PROJECT).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def order_logs(tree: ast.Module) -> bool:
    """Whether it compares such a fact of one log with one of another."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        facts = [
            part
            for side in (node.left, *node.comparators)
            for part in ast.walk(side)
            if isinstance(part, ast.Attribute) and part.attr in {*ORDER_OF_LOGS, TIME}
        ]
        has_time = [fact.attr == TIME for fact in facts]
        if len({ast.unparse(fact.value) for fact in facts}) > 1 and (all(has_time) or not any(has_time)):
            return True
    return False


def select_and_decode(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Call) and name_of(node.func) == DECODER for node in ast.walk(tree))


def interpret_ddl(tree: ast.Module) -> bool:
    """Whether it tells kinds of parsed statements apart, by patterns or by ``isinstance``.

    The module that defines them answers questions about what one says; it is not what a statement did.
    """
    if any(isinstance(node, ast.ClassDef) and node.name in STATEMENTS for node in tree.body):
        return False
    kinds = {name_of(node.cls) for node in ast.walk(tree) if isinstance(node, ast.MatchClass)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) == "isinstance":
            kinds |= {name_of(part) for part in ast.walk(node.args[1])}
    return len(kinds & STATEMENTS) > 1


def write_values(tree: ast.Module) -> bool:
    """Whether it makes text with the quotes of a literal of SQL."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="replace"), args=[_, ast.Constant(value=quoted)]) if (
                quoted in QUOTES
            ):
                return True
            case ast.Constant(value=str(text)) if text.endswith(("X'", "x'")):
                return True
    return False


def hold_locks(tree: ast.Module) -> bool:
    return any(name_of(node) in LOCKS for node in ast.walk(tree))


DECISIONS: dict[str, Callable[[ast.Module], bool]] = {
    "which log follows which": order_logs,
    "selecting and decoding": select_and_decode,
    "what a DDL statement did": interpret_ddl,
    "how a value is written": write_values,
    "locks": hold_locks,
}


def owners(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The modules that take each decision."""
    return {
        decision: [module for module, tree in trees.items() if takes(tree)]
        for decision, takes in DECISIONS.items()
    }


def classes(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The modules of each class name that stands in several places, an underscore before it apart."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(module)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def file_names() -> dict[str, list[str]]:
    """The folders of each file name, but ``__init__.py``, that stands in several."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pattern in ("*.py", "*.pyx"):
        for path in sorted(PACKAGE.rglob(pattern)):
            if path.name != "__init__.py":
                found[path.name].append(path.parent.relative_to(PROJECT).as_posix())
    return {name: folders for name, folders in sorted(found.items()) if len(folders) > 1}


def files_run(*arguments: str) -> int:
    """How many files of binx a command runs: the Python modules that are imported at its end."""
    code = (
        "import sys\nfrom binx.cli.run import run\nassert run() == 0\n"
        "files = [getattr(module, '__file__', '') or '' for name, module in sys.modules.items()"
        " if name.partition('.')[0] == 'binx']\n"
        "print(sum(file.endswith('.py') for file in files), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return int(result.stderr.split()[-1])


def report() -> Iterator[str]:
    trees = modules()
    for decision, places in owners(trees).items():
        yield f"{decision}: {len(places)}"
        yield from (f"    {place}" for place in places)
    for title, found in (("class names", classes(trees)), ("file names", file_names())):
        yield f"{title} that stand for several things: {len(found)}"
        yield from (f"    {name}: {', '.join(places)}" for name, places in found.items())
    with tempfile.TemporaryDirectory() as folder:
        exported = files_run("to-parquet", "-q", "--jobs", "1", "-o", f"{folder}/lake", LOG)
        extracted = files_run("extract", "-q", "--gtid", GTID, "-o", f"{folder}/one.binlog", LOG)
    yield f"Python files that run: to-parquet {exported}, extract --gtid {extracted}"


if __name__ == "__main__":
    for line in report():
        print(line)
