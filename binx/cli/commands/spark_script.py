"""``binx spark-script``: print the path of the loader's script."""

from __future__ import annotations

from binx.cli.command import Example, command
from binx.cli.options import QUIET
from binx.cli.terminal import text_output
from binx.errors import ExitCode
from binx.spark.session import SCRIPT

EXAMPLES = (
    Example(
        "load a data set on a cluster", 'spark-submit "$(binx spark-script)" --input lake --output tables'
    ),
)


@command("spark-script", examples=EXAMPLES)
@QUIET
def spark_script_command(quiet: bool) -> ExitCode:
    """Print the path of a script for spark-submit: the same as `binx load` on this machine."""
    with text_output() as output:
        output.line(str(SCRIPT))
    return ExitCode.DONE
