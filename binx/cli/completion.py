"""``binx completion``: what completes commands, options, files, tables and GTIDs in a shell.

The shell asks ``binx`` itself, through click. Names of tables and GTIDs come from the files that stand on the
command line so far, as far as they are read quickly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
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
from binx.cli.options import Example, command
from binx.cli.terminal import text_output
from binx.errors import BinxError
from binx.kernels.scan import Level
from binx.log.file import BinlogFile

EXAMPLES = (
    Example("a file that ~/.bashrc can source", "binx completion bash > binx.bash"),
    Example(
        "the same for fish, which looks in ~/.config/fish/completions", "binx completion fish > binx.fish"
    ),
)

DETAILS = (
    "Commands, options, files and the words that options take are completed; --table, --db, --gtid and"
    " --exclude-gtid from the files that stand before them on the command line, where these are at most"
    " 64 MiB together.",
    'For good: put the line `eval "$(binx completion bash)"` into ~/.bashrc, with zsh for bash into ~/.zshrc.'
    " Bash 4.4 or newer is needed.",
)

SHELLS = ("bash", "zsh", "fish")

READ_BYTES = 64 * 1024 * 1024
"""Files that are larger together are not read for a completion."""

_MOST = 100

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
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print a script by which bash, zsh or fish complete binx's commands, options, tables and GTIDs."""
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
    gtids = _gtids()
    servers = list(dict.fromkeys(_server(gtid) for gtid in gtids))
    chosen = len(servers) == 1 or any(last.startswith(server) for server in servers)
    found = reversed(gtids) if chosen else servers
    return _items([f"{before}{comma}{one}" for one in found], incomplete)


def _server(gtid: str) -> str:
    """What all transactions of a server have in common, up to their number."""
    separator = ":" if ":" in gtid else "-"
    return gtid.rpartition(separator)[0] + separator


def _items(texts: list[str], incomplete: str) -> list[CompletionItem]:
    found = [text for text in texts if text.startswith(incomplete) and text.isprintable()]
    return [CompletionItem(text) for text in found[:_MOST]]


def _files() -> list[str]:
    """What stands on the command line and is a file.

    Click has not read them yet: it stops at the option that still lacks its value.
    """
    words = split_arg_string(os.environ.get("COMP_LINE") or os.environ.get("COMP_WORDS", ""))
    files = [word for word in words[1:] if Path(word).is_file()]
    return files if sum(Path(file).stat().st_size for file in files) <= READ_BYTES else []


def _names() -> Iterator[tuple[str, str]]:
    """Tables of the files, as far as they can be read."""
    with suppress(BinxError):
        for file in _files():
            with BinlogFile.open(file) as log:
                scan = log.scan(Level.LEVEL_TABLES, verify=False)
                for _ in scan:
                    pass
                yield from {scan.table_name(number) for number in range(scan.table_count)}


def _gtids() -> list[str]:
    """GTIDs of the files, as far as they can be read."""
    found: list[str] = []
    with suppress(BinxError):
        for file in _files():
            with BinlogFile.open(file) as log:
                for table in log.scan(verify=False):
                    found += filter(None, map(table.gtid, range(len(table))))
    return found
