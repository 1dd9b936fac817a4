"""A whole load: from the command line to the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import Options, parse_arguments
from .manifests import Manifest, read_manifests
from .outcome import LoadError, reason_of
from .records import ICEBERG
from .storage import LocalStorage, is_local
from .visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .summary import Summary

#: Called with the bytes done, all bytes, and what is being done.
Progress = Callable[[int, int, str], None]

_MEGABYTE = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script: parse, start or join a Spark session, load, print.

    Args:
        arguments: the command line without the script's name; ``sys.argv`` where None.

    Returns:
        The exit code.
    """
    options = parse_arguments(arguments)
    try:
        manifests = manifests_at_hand(options)
    except LoadError as error:
        return _failed(error)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return _failed(
            LoadError(
                "pyspark is not installed here: start this script with spark-submit, "
                "or pip install 'binx[spark]'"
            )
        )
    builder: Any = SparkSession.builder
    spark = builder.appName("binx load").getOrCreate()
    # spark-submit lets a script's standard error end in its standard output, where only the JSON belongs.
    return run(spark, options, None if options.quiet or options.json else _Lines(), manifests)


class _Lines:
    """A line on standard error for each thing that is begun."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, done: int, total: int, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            reached = f"{done / _MEGABYTE:,.1f} of {total / _MEGABYTE:,.1f} MB"
            print(f"[{reached}] {visible(what)}", file=sys.stderr)


def _failed(error: LoadError) -> int:
    text = "\n".join(map(visible, str(error).split("\n")))
    print(f"load.py: error: {text}", file=sys.stderr)
    return error.exit_code


def run(
    spark: SparkSession,
    options: Options,
    progress: Progress | None = None,
    manifests: Sequence[Manifest] | None = None,
) -> int:
    """Load and print the summary; errors become a message and an exit code.

    Args:
        spark: the session; three of its settings are set (time zone, timestamps, time zone of timestamps).
        options: what to load.
        progress: told about each step.
        manifests: what the data sets hold, where that was read before.
    """
    try:
        summary = load_tables(spark, options, progress, manifests)
    except LoadError as error:
        return _failed(error)
    if options.json:
        print(json.dumps(summary.to_json()))
    elif not options.quiet:
        print("\n".join(summary.lines()))
    return summary.exit_code


def manifests_at_hand(options: Options) -> list[Manifest] | None:
    """All manifests, read without Spark; None where a data set is not on this machine, or Spark comes first.

    Raises:
        LoadError: a data set is not there, or a manifest of it cannot be understood or contradicts itself.
    """
    if options.format == ICEBERG or not all(is_local(path) for path in options.inputs):
        return None
    return read_manifests([LocalStorage(path) for path in options.inputs])


def load_tables(
    spark: SparkSession,
    options: Options,
    progress: Progress | None = None,
    manifests: Sequence[Manifest] | None = None,
) -> Summary:
    """Load what is new, commit it, and tell what was done.

    Raises:
        LoadError: nothing was changed, and why; or all is committed, but not yet in Iceberg's tables.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from .job import load_new

    try:
        return load_new(spark, options, progress or (lambda *_: None), manifests)
    except (PySparkException, Py4JError) as error:
        raise LoadError(f"Spark failed, and nothing was changed; it said: {reason_of(error)}") from error
    except OSError as error:
        raise LoadError(f"the load stopped, and nothing was changed in {options.output}: {error}") from error
