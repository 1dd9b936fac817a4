"""Whether the executors have what binx's tasks need, asked before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from binx import __version__
from binx.errors import BinxError
from binx.storage.store import Store

if TYPE_CHECKING:
    from pyspark import SparkContext

_TASKS_A_SLOT = 2


def check_executors(context: SparkContext, logs: Sequence[str], store: Store, output: str) -> None:
    """Ask tasks on all executors whether binx can be imported, is this version, and sees the files.

    Raises:
        BinxError: something is missing on an executor; the message says what on which, and what to do.
    """
    # What a killed run leaves of it is removed by the next one.
    marker = f".binx-{uuid4().hex}.tmp"
    store.put(marker, b"")
    try:
        # One log of each folder is enough to know whether the folder is seen.
        folders = {Path(path).parent: path for path in logs}
        slots = max(1, context.defaultParallelism) * _TASKS_A_SLOT
        probe = _probe([*folders.values()], output, marker)
        answers = context.parallelize(range(slots), slots).mapPartitions(probe).collect()
    finally:
        store.remove(marker)
    wrong = problems(answers)
    if wrong:
        raise BinxError(
            f"the executors are not ready: {'; '.join(wrong)}. docs/spark-cluster.md explains how to"
            " install binx on them"
        )


def problems(answers: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with the executors that answered, in sentences, each once."""
    found: dict[str, None] = {}
    for one in answers:
        host = one["host"]
        if one["error"] is not None:
            found[f"{host}: {one['python']} cannot import binx ({one['error']})"] = None
            continue
        if one["binx"] != __version__:
            found[f"{host}: has binx {one['binx']}, the driver has {__version__}"] = None
        if one["pyarrow"] != pa.__version__:
            found[f"{host}: has pyarrow {one['pyarrow']}, the driver has {pa.__version__}"] = None
        for path in one["unseen"]:
            found[
                f"{host}: {path} does not exist; logs and output must be at the same path on all machines"
            ] = None
    return list(found)


def _probe(logs: list[str], output: str, marker: str) -> Callable[[Iterable[int]], Iterator[dict[str, Any]]]:
    """What a task answers; it is sent as code, since binx may not be there."""

    def probe(_: Iterable[int]) -> Iterator[dict[str, Any]]:
        import os
        import platform
        import sys

        answer: dict[str, Any] = {"host": platform.node(), "python": sys.executable, "error": None}
        try:
            import pyarrow

            import binx
            import binx.kernels.rows.images

            answer |= {"binx": binx.__version__, "pyarrow": pyarrow.__version__, "path": binx.__file__}
        except ImportError as error:
            answer["error"] = str(error)
            yield answer
            return
        answer["unseen"] = [log for log in logs if not os.path.exists(log)]  # noqa: PTH110 - sent alone
        try:
            from binx.storage.store import open_store

            if open_store(output).read(marker) is None:
                answer["unseen"].append(output)
        except ImportError:
            # Another version of binx, which is what is told.
            pass
        except binx.BinxError:
            answer["unseen"].append(output)
        yield answer

    return probe


__all__ = ["check_executors", "problems"]
