"""A whole load: from the command line to the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import Options, parse_arguments
from .outcome import ExitCode, LoadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .summary import Summary

#: Called with the steps done, all steps, and what is being done.
Progress = Callable[[int, int, str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script: parse, start or join a Spark session, load, print.

    Args:
        arguments: the command line without the script's name; ``sys.argv`` where None.

    Returns:
        The exit code.
    """
    options = parse_arguments(arguments)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return _failed(
            "pyspark is not installed here: start this script with spark-submit, or pip install 'binx[spark]'"
        )
    builder: Any = SparkSession.builder
    spark = builder.appName("binx load").getOrCreate()
    # spark-submit lets a script's standard error end in its standard output, where only the JSON belongs.
    return run(spark, options, None if options.quiet or options.json else _say)


def _say(done: int, total: int, what: str) -> None:
    print(f"[{done}/{total}] {what}", file=sys.stderr)


def _failed(message: str) -> int:
    print(f"load.py: {message}", file=sys.stderr)
    return ExitCode.FAILED


def run(spark: SparkSession, options: Options, progress: Progress | None = None) -> int:
    """Load and print the summary; errors become a message and an exit code.

    Args:
        spark: the session; three of its settings are set (time zone, timestamps, time zone of timestamps).
        options: what to load.
        progress: told about each step.
    """
    try:
        summary = load_tables(spark, options, progress)
    except LoadError as error:
        print(f"load.py: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(summary.to_json(), ensure_ascii=False))
    elif not options.quiet:
        print("\n".join(summary.lines()))
    return ExitCode.LOSSES if summary.lossy else ExitCode.DONE


def load_tables(spark: SparkSession, options: Options, progress: Progress | None = None) -> Summary:
    """Load what is new, commit it, and tell what was done.

    Raises:
        LoadError: nothing was changed, and why.
    """
    from .job import load_new

    return load_new(spark, options, progress or (lambda *_: None))
