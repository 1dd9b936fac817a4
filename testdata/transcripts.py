"""Transcripts in the documentation: each command in them is run, and what it prints stands beneath it.

``python -m testdata.transcripts`` (``make transcripts``) writes the pages again; a test holds that they are
not stale. A transcript is a block of code marked ``console`` behind a comment ``transcript``, with a line for
each command that begins with ``$``; lines that end in a backslash go on. The commands of a page are run one
after another in a folder that holds the shop's logs under their own names, on a terminal of 100 columns,
without colours; standard error comes last. A block of code behind a comment ``file NAME`` is a file of that
folder: the commands run what the page shows.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).resolve().parent.parent
RECIPES = sorted(str(page.relative_to(PROJECT)) for page in PROJECT.glob("docs/recipes/*.md"))
PAGES = (
    *("README.md", "docs/tour.md", "docs/statistics.md", "docs/json.md", "docs/point-in-time-recovery.md"),
    *RECIPES,
)
WIDTH = 100

_BLOCK = re.compile(r"(?<=^<!-- transcript -->\n)```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?<=^<!-- )file (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "
_CONTINUED = "> "


_PROGRAM = f'#!/bin/sh\nexec "{sys.executable}" -m binx "$@"\n'


def written_again(page: Path, program: str = _PROGRAM) -> str:
    """A page with the output that its commands print now; ``program`` is what they start as ``binx``."""
    text = page.read_text("utf-8")
    with TemporaryDirectory(prefix="binx-") as folder:
        place = prepared(Path(folder), program)
        for name, content in _FILE.findall(text):
            (place / name).write_text(content)
            (place / name).chmod(0o755 if content.startswith("#!") else 0o644)
        return _BLOCK.sub(lambda block: _block(block[1], place), text)


def prepared(folder: Path, program: str = _PROGRAM) -> Path:
    """The folder in which the commands are run, and beside it the program that they mean."""
    place = folder / "logs"
    place.mkdir()
    for log in sorted((PROJECT / "testdata" / "mysql-9.7" / "shop").glob("mysql-bin.*")):
        shutil.copy(log, place)
    command = folder / "bin" / "binx"
    command.parent.mkdir()
    command.write_text(program)
    command.chmod(0o755)
    if jq := shutil.which("jq"):
        monochrome = command.with_name("jq")
        monochrome.write_text(f'#!/bin/sh\nexec "{jq}" -M "$@"\n')
        monochrome.chmod(0o755)
    return place


def _block(text: str, place: Path) -> str:
    lines: list[str] = []
    for command in _commands(text):
        first, *rest = command.split("\n")
        lines += [_PROMPT + first, *(_CONTINUED + line for line in rest)]
        lines += run(command, place)[0].splitlines()
    return "\n".join(["```console", *lines, "```"])


def _commands(text: str) -> list[str]:
    """The commands of a block, without what they printed."""
    commands: list[str] = []
    for line in text.splitlines():
        if line.startswith(_PROMPT):
            commands.append(line.removeprefix(_PROMPT))
        elif commands and commands[-1].endswith("\\") and line.startswith(_CONTINUED):
            commands[-1] += "\n" + line.removeprefix(_CONTINUED)
    return commands


def run(command: str, place: Path) -> tuple[str, int]:
    """What a command prints on a terminal, after it what it says on standard error, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
    environment = {
        "PATH": f"{place.parent / 'bin'}:{os.environ['PATH']}",
        "HOME": str(place.parent),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "NO_COLOR": "1",
        "BINX_CONFIG": "",
        "BINX_PAGER": "",
        "PYTHONPATH": str(PROJECT),
    }
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(slave)
    said: list[bytes] = []
    assert process.stderr is not None
    listener = threading.Thread(target=lambda stream: said.append(stream.read()), args=(process.stderr,))
    listener.start()
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:
        pass  # Linux says so when the last process has left the terminal.
    os.close(master)
    listener.join()
    code = process.wait()
    text = (shown + b"".join(said)).decode("utf-8").replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.splitlines()), code


if __name__ == "__main__":
    for name in PAGES:
        page = PROJECT / name
        page.write_text(written_again(page), "utf-8")
