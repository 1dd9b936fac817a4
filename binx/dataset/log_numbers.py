"""The numbers in logs' names, by which a data set orders changes (SCN)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from binx.dataset.staging import source_name
from binx.errors import OutputError, RefusedError, SourceError
from binx.log.file import BinlogFile
from binx.source.names import number_of
from binx.source.spooled import STANDARD_INPUT_NAME
from binx.storage.store import MANIFESTS, Store

_SOURCE = re.compile(r"(?P<name>.+)\.[0-9a-f]{8}\.json")


def check_log_numbers(files: Sequence[BinlogFile], store: Store) -> None:
    """See to it that the changes of all logs in a data set can be told apart and ordered.

    A log whose name has no number counts as number 0: that may be one alone.

    Raises:
        RefusedError: a log comes from standard input; or it has no number, and is not alone in the data set.
        OutputError: the data set cannot be read.
    """
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError(
            "a log from standard input has no name, and the data set orders changes by the number in it;"
            " save the log under its own name first"
        )
    try:
        there = [found for name in store.names(MANIFESTS) if (found := _SOURCE.fullmatch(name))]
    except SourceError as error:
        raise OutputError(error.message, path=error.path) from error
    given = {f"{source_name(file)}.json": file.name for file in files}
    names = given | {found[0]: found["name"] for found in there}
    unnumbered = next((name for name in names.values() if not number_of(name)), None)
    if unnumbered is not None and len(names) > 1:
        raise RefusedError(
            "expected a log's name to end in its number, such as mysql-bin.000042, by which the data set"
            f" orders the changes of several logs, found {unnumbered}; call it as its server did, or give it"
            " a data set of its own"
        )
