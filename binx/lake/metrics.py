"""What operators watch of loaded tables, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from binx.lake.status import LoadedTable, Status

_SECOND = 1_000_000
_KINDS = {"current": "current", "history": "history", "scd2": "version"}


@dataclass(frozen=True, slots=True)
class LoadRun:
    """How a run ended: its exit code, when, in seconds since 1970, and how many seconds it took."""

    exit_code: int
    ended: float
    seconds: float


Samples = Iterator[tuple[Mapping[str, str], float | int | None]]

_TABLE_METRICS: dict[str, tuple[str, Callable[[LoadedTable], float | int | None]]] = {
    "rows": ("Rows of current/, without deleted ones.", lambda table: table.current),
    "unknown_rows": ("Rows with values that only the server knows.", lambda table: table.unknown_rows),
    "complete": ("1 if nothing is missing, 0 otherwise.", lambda table: int(table.completeness == "yes")),
    "losses": (
        "Reasons why it is not complete that were not accepted.",
        lambda table: 0 if table.accepted else len(table.reasons),
    ),
    "stopped": ("1 if the last load could not take its changes.", lambda table: int(bool(table.error))),
    "newest_commit_timestamp_seconds": (
        "Commit time of its last row change that is loaded.",
        lambda table: None if table.loaded_until is None else table.loaded_until / _SECOND,
    ),
    "waiting_rows": ("Row images in the data sets that are not loaded.", lambda table: table.waiting_rows),
    "lag_seconds": (
        "From the first commit that may not be loaded to the newest one in the data sets.",
        lambda table: table.behind_seconds,
    ),
}


def metrics_text(status: Status | None, run: LoadRun | None) -> str:
    """Return the metrics of loaded tables, if there are any, and of a load, if one ran."""
    return "".join(f"{line}\n" for line in _lines(status, run))


def _lines(status: Status | None, run: LoadRun | None) -> Iterator[str]:
    def metric(name: str, text: str, samples: Samples) -> Iterator[str]:
        found = [(labels, value) for labels, value in samples if value is not None]
        if found:
            yield f"# HELP binx_{name} {text}"
            yield f"# TYPE binx_{name} gauge"
        for labels, value in found:
            listed = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            yield f"binx_{name}{{{listed}}} {value}" if listed else f"binx_{name} {value}"

    def one(value: float | int | None) -> Samples:
        yield {}, value

    if run is not None:
        yield from metric("load_exit_code", "Exit code of the last load.", one(run.exit_code))
        yield from metric("load_end_timestamp_seconds", "When the last load ended.", one(run.ended))
        yield from metric("load_duration_seconds", "How long the last load took.", one(run.seconds))
    if status is None:
        return
    yield from metric("load_number", "Number of the last load that was committed.", one(status.load))
    yield from metric(
        "load_losses",
        "Losses that concern no particular table and were not accepted.",
        one(0 if status.losses_seen else len(status.losses)),
    )
    newest = None if status.loaded_until is None else status.loaded_until / _SECOND
    yield from metric(
        "newest_commit_timestamp_seconds",
        "Commit time of the newest loaded transaction.",
        one(newest),
    )
    yield from metric(
        "lag_seconds",
        "From the newest commit that is loaded to the newest one in the data sets.",
        one(status.behind_seconds),
    )
    yield from metric("new_manifests", "Exports that no load has read.", one(status.new_manifests))
    tables = [({"db": table.db, "table": table.table}, table) for table in status.tables]
    for name, (text, figure) in _TABLE_METRICS.items():
        yield from metric(f"table_{name}", text, ((labels, figure(table)) for labels, table in tables))
    for name, text in (("files", "Files that count."), ("bytes", "Their size on disk.")):
        yield from metric(
            f"table_{name}",
            text,
            (
                ({**labels, "kind": kind}, getattr(table, f"{attribute}_{name}"))
                for labels, table in tables
                for kind, attribute in _KINDS.items()
            ),
        )


def _escaped(text: str) -> str:
    """Return a label's value as the format wants it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
