"""``binx completion``: what completes commands, options, files, tables and GTIDs in a shell.

The shell asks ``binx`` itself, through click. Names of tables and GTIDs come from the files that stand on the
command line so far: from their index files, or where they are read quickly from the logs themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from binx.cli.commands import COMPLETE
from binx.cli.declaration import Choice, Example, argument, command
from binx.cli.options import QUIET
from binx.cli.terminal import text_output
from binx.errors import BinxError
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.index_use import IndexUse, attach_sidecars
from binx.log.inputs import STANDARD_INPUT, expand_paths
from binx.log.scanning import decoded_name
from binx.source.remote import is_uri

EXAMPLES = (
    Example("a script for ~/.bashrc to source", "binx completion bash > binx.bash"),
    Example("the same for fish (for ~/.config/fish/completions)", "binx completion fish > binx.fish"),
)

DETAILS = (
    "Commands, options, option values and files are completed. --table, --db, --gtid and --exclude-gtid are"
    " completed from the logs already on the command line: from their index files (see binx-index(1)), or"
    " from the logs themselves if those without index files are at most 64 MiB together.",
    'To install it, add the line `eval "$(binx completion bash)"` to ~/.bashrc, or with zsh in place of'
    " bash to ~/.zshrc. Requires Bash 4.4 or newer.",
)

SHELLS = ("bash", "zsh", "fish")

READ_BYTES = 64 * 1024 * 1024
"""Logs without index files that are larger together are not read for a completion."""

_MOST = 100
_LOOKED_AT = 200_000
"""GTIDs among which those are looked for that begin as what was typed."""

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response kind value word start
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD COMP_LINE="$COMP_LINE" \\
        COMP_POINT=$COMP_POINT %(complete_var)s=bash_complete "$1")
    # Bash takes a colon for the end of a word; what stands before the last one is there already.
    word="${COMP_LINE:0:COMP_POINT}"
    word="${word##* }"
    start="${word%%"${word##*:}"}"
    COMPREPLY=()
    for word in $response; do
        IFS=',' read -r kind value <<< "$word"
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$start"}"); compopt -o nospace ;;
        esac
    done
    if [ "${#COMPREPLY[@]}" = 1 ] && [ "${COMPREPLY[0]: -1}" != ":" ]; then compopt +o nospace; fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Bash, whose words end at colons, while GTIDs have some."""

    source_template = _BASH

    @classmethod
    def _check_version(cls) -> None:
        """The script is printed for another process's bash; nothing here can check that."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at hand, and that one, cut at spaces alone."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = line[: int(os.environ.get("COMP_POINT", len(line)))].split(" ")
        return [word for word in words[1:-1] if word], words[-1]


def install_bash() -> None:
    """Have click use the script above."""
    add_completion_class(_Bash, "bash")


@command("completion", examples=EXAMPLES, details=DETAILS, takes_defaults=False)
@argument("shell", metavar="SHELL", value=Choice(*SHELLS))
@QUIET
def completion_command(shell: str, quiet: bool) -> None:
    """Print a script that completes commands, options, tables and GTIDs in bash, zsh or fish."""
    from binx.cli.application import PROGRAM, application

    install_bash()
    kind = get_completion_class(shell)
    assert kind is not None
    with text_output() as output:
        output.write(kind(application, {}, PROGRAM, COMPLETE).source().rstrip("\n") + "\n")


def complete_tables(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Tables that the files have changes of."""
    return _items(sorted(f"{db}.{table}" for db, table in _names()), incomplete)


def complete_databases(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Databases that the files have changes of."""
    return _items(sorted({db for db, _ in _names()}), incomplete)


def complete_gtids(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Servers first, then their transactions, the newest first; of a list the last part."""
    before, comma, last = incomplete.rpartition(",")
    with suppress(BinxError), _logs() as logs:
        servers = list(dict.fromkeys(server for log in logs for server in _servers(log)))
        chosen = len(servers) == 1 or any(last.startswith(server) for server in servers)
        newest = islice((gtid for log in reversed(logs) for gtid in _gtids(log)), _LOOKED_AT)
        found = (one for one in newest if one.startswith(last)) if chosen else iter(servers)
        return _items([f"{before}{comma}{one}" for one in islice(found, _MOST)], incomplete)
    return []


def _server(gtid: str) -> str:
    """What all transactions of a server have in common, up to their number."""
    separator = ":" if ":" in gtid else "-"
    return gtid.rpartition(separator)[0] + separator


def _items(texts: list[str], incomplete: str) -> list[CompletionItem]:
    found = [text for text in texts if text.startswith(incomplete) and text.isprintable()]
    return [CompletionItem(text) for text in found[:_MOST]]


@contextmanager
def _logs() -> Iterator[list[BinlogFile]]:
    """The logs on the command line: those that have index files, and others that are read quickly.

    Click has not read them yet: it stops at the option that still lacks its value.
    """
    words = split_arg_string(os.environ.get("COMP_LINE") or os.environ.get("COMP_WORDS", ""))
    paths: list[str] = []
    for word in words[1:]:
        with suppress(BinxError):
            paths += expand_paths([word] if word != STANDARD_INPUT and not is_uri(word) else [])
    files: list[BinlogFile] = []
    for path in dict.fromkeys(paths):
        if Path(path).is_file():
            with suppress(BinxError):
                files.append(BinlogFile.open(path))
    try:
        attach_sidecars(files, IndexUse(os.environ.get("BINX_INDEX_DIR") or None))
        unread = sum(file.size for file in files if file.sidecar is None)
        yield [file for file in files if file.sidecar is not None or unread <= READ_BYTES]
    finally:
        for file in files:
            file.close()


def _names() -> set[tuple[str, str]]:
    """Tables of the logs, as far as they can be read."""
    names: set[tuple[str, str]] = set()
    with suppress(BinxError), _logs() as logs:
        for log in logs:
            if log.sidecar is not None:
                names |= set(map(decoded_name, log.sidecar.directory.tables))
                continue
            scan = log.scan(Level.LEVEL_TABLES, verify=False)
            for _ in scan:
                pass
            names |= {scan.table_name(number) for number in range(scan.table_count)}
    return names


def _servers(log: BinlogFile) -> Iterator[str]:
    """What the GTIDs of a log begin with."""
    if log.sidecar is None:
        yield from (_server(gtid) for gtid in reversed(list(_gtids(log))))
        return
    known: set[int] = set()
    for block in log.sidecar.directory.blocks:
        numbers = {number for number, *_ in block.gtids}
        if not numbers <= known:
            known |= numbers
            yield from (_server(gtid) for gtid in _gtids_of(log.sidecar.table(block)))


def _gtids(log: BinlogFile) -> Iterator[str]:
    """The GTIDs of a log, the newest first."""
    if log.sidecar is None:
        tables = list(log.scan(verify=False))
        for table in reversed(tables):
            yield from _gtids_of(table)
        return
    for block in reversed(log.sidecar.directory.blocks):
        yield from _gtids_of(log.sidecar.table(block))


def _gtids_of(table: TransactionTable) -> Iterator[str]:
    return filter(None, map(table.gtid, reversed(range(len(table)))))
