"""The script with which Bash asks for completions: GTIDs have colons, which end words there."""

from __future__ import annotations

import os

from click.shell_completion import BashComplete

_SCRIPT = """\
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


class Bash(BashComplete):
    """Bash, whose words end at colons, while GTIDs have some."""

    source_template = _SCRIPT

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
