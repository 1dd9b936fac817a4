"""What in the figures deserves a DBA's look; ``docs/statistics.md`` explains each code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from binx.event.format import Flavour
from binx.log.chain.chain import ChainProblem
from binx.log.selection.moments import MICROSECONDS
from binx.source.wording import counted, listed
from binx.stats.figures import FileFigures, Finding, KindFigures
from binx.stats.transaction import ListedTransaction

HUGE_BYTES = 100 * 1024 * 1024
"""A transaction of more is huge wherever it stands."""

LONG_SECONDS = 60
"""A transaction that takes longer is long."""

_HUGE_SHARE = 4
_SHARED_BYTES = 10 * 1024 * 1024
_NAMES_SHOWN = 5
_CASCADES_LOGGED_SINCE = (9, 6, 0)


@dataclass(slots=True)
class TableFacts:
    """What table maps say of the tables that were changed.

    Attributes:
        without_key: names of tables that have no primary key.
        without_names: names of tables whose columns have no names in at least one map.
        unknown_metadata: names of tables by the types of metadata fields that binx does not know.
        uncounted: names of tables whose rows are not counted.
    """

    without_key: set[str] = field(default_factory=set)
    without_names: set[str] = field(default_factory=set)
    unknown_metadata: dict[int, set[str]] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the findings are drawn from; steps are in µs.

    Attributes:
        largest: the transactions with most bytes, four at least where there are so many.
        tables: what table maps say; empty where only the index was read.
        with_text: transactions that hold statements and are no DDL.
        cascades: statements that define foreign keys which change rows by themselves.
    """

    files: Sequence[FileFigures]
    unknown_events: Mapping[int, int]
    problems: Sequence[ChainProblem]
    kinds: Sequence[KindFigures]
    largest: Sequence[ListedTransaction]
    huge_count: int
    longest: Sequence[ListedTransaction]
    long_count: int
    transaction_bytes: int
    tables: TableFacts
    with_text: int
    backward_steps: int
    largest_step: int
    backward_event_steps: int
    largest_event_step: int
    missing_gtids: str
    missing_count: int
    cascades: int
    versions: frozenset[tuple[Flavour, tuple[int, int, int]]]


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, what is lost first."""
    return (
        *_about_files(evidence),
        *_about_gtids(evidence),
        *_about_tables(evidence),
        *_about_transactions(evidence),
    )


def _about_files(evidence: Evidence) -> Iterator[Finding]:
    for file in evidence.files:
        if file.damaged_bytes:
            yield Finding(
                "damaged",
                f"{counted(file.damaged_bytes, 'byte')} could not be read: {file.problem}",
                file.damaged_bytes,
            )
    for file in evidence.files:
        if file.in_use:
            tail = f"; its last {file.unfinished_bytes:,} bytes are an incomplete transaction"
            yield Finding(
                "in_use",
                f"{file.name} is open in its server, or was when the server crashed"
                + (tail if file.unfinished_bytes else ""),
                1,
            )
    for problem in evidence.problems:
        yield Finding("chain", f"{problem.kind.value}: {problem.message} (after {problem.before})", 1)
    if evidence.unknown_events:
        types = ", ".join(map(str, sorted(evidence.unknown_events)))
        count = sum(evidence.unknown_events.values())
        yield Finding(
            "unknown_events",
            f"{counted(count, 'event')} of unknown types ({types}), marked as ignorable, skipped",
            count,
        )
    incidents = _transactions(evidence, "incident")
    if incidents:
        yield Finding(
            "incident",
            f"the server recorded in {counted(incidents, 'place')} that changes are missing from its log",
            incidents,
        )
    bare = [file.name for file in evidence.files if file.checksum == "OFF"]
    if bare:
        yield Finding(
            "no_checksums",
            f"events without checksums, where damage may go unnoticed: {_names(bare)}",
            len(bare),
        )


def _about_gtids(evidence: Evidence) -> Iterator[Finding]:
    if evidence.missing_count:
        yield Finding(
            "missing_gtids",
            f"{counted(evidence.missing_count, 'GTID')} missing from these logs although later GTIDs of"
            " the same source are present (lost, filtered out, or never assigned):"
            f" {_shortened(evidence.missing_gtids)}",
            evidence.missing_count,
        )


def _about_tables(evidence: Evidence) -> Iterator[Finding]:
    without_key = evidence.tables.without_key
    if without_key:
        yield Finding(
            "no_primary_key",
            f"tables changed without a primary key, so changes do not identify rows: {_names(without_key)}",
            len(without_key),
        )
    without_names = evidence.tables.without_names
    if without_names:
        yield Finding(
            "no_column_names",
            "the log has no column names (binlog_row_metadata is not FULL), so they are known only"
            f" from DDL: {_names(without_names)}",
            len(without_names),
        )
    uncounted = evidence.tables.uncounted
    if uncounted:
        yield Finding(
            "uncounted_rows",
            f"rows not counted because the size of a column is not known: {_names(uncounted)}",
            len(uncounted),
        )
    for number, tables in sorted(evidence.tables.unknown_metadata.items()):
        yield Finding(
            "unknown_metadata",
            f"table maps with metadata of the unknown type {number}, which is ignored: {_names(tables)}",
            len(tables),
        )
    if evidence.cascades and any(not _logs_cascades(*version) for version in evidence.versions):
        yield Finding(
            "cascades_not_logged",
            f"{counted(evidence.cascades, 'statement')} with foreign key actions (CASCADE, SET NULL);"
            " their row changes are not logged by MariaDB, nor by MySQL before 9.6",
            evidence.cascades,
        )


def _about_transactions(evidence: Evidence) -> Iterator[Finding]:
    if evidence.with_text:
        yield Finding(
            "statements_as_text",
            f"{counted(evidence.with_text, 'transaction')} with changes logged as statements; the rows"
            " they changed are not in the log",
            evidence.with_text,
        )
    rolled_back = _transactions(evidence, "rollback") + _transactions(evidence, "xa_rollback")
    if rolled_back:
        yield Finding(
            "rolled_back",
            f"{counted(rolled_back, 'transaction')} rolled back: only changes to non-transactional"
            " tables persist",
            rolled_back,
        )
    bound = HUGE_BYTES
    if evidence.transaction_bytes >= _SHARED_BYTES:
        bound = min(bound, evidence.transaction_bytes // _HUGE_SHARE)
    # No more than three can have over a quarter each.
    huge = evidence.huge_count
    if bound < HUGE_BYTES:
        huge = sum(one.bytes > bound for one in evidence.largest)
    if huge:
        worst = evidence.largest[0]
        yield Finding(
            "huge_transaction",
            f"{counted(huge, 'transaction')} of over {bound:,} bytes, which delay replicas; the"
            f" largest, {worst.transaction}, has {worst.bytes:,}",
            huge,
        )
    if evidence.long_count:
        worst = evidence.longest[0]
        yield Finding(
            "long_transaction",
            f"{counted(evidence.long_count, 'transaction')} took over a minute from the first statement"
            f" to the commit, holding locks; the longest, {worst.transaction}, took"
            f" {worst.duration_seconds or 0:,} s",
            evidence.long_count,
        )
    if evidence.backward_steps:
        yield Finding(
            "clock_back",
            "commit time goes backwards by more than a second in"
            f" {counted(evidence.backward_steps, 'place')}, by up to"
            f" {evidence.largest_step / MICROSECONDS:,.1f} s: a clock was set back, or logs of several"
            " servers are mixed",
            evidence.backward_steps,
        )
    if evidence.backward_event_steps:
        yield Finding(
            "time_back",
            "event times go backwards by more than a second in"
            f" {counted(evidence.backward_event_steps, 'place')}, by up to"
            f" {evidence.largest_event_step // MICROSECONDS:,} s: long statements, times set by sessions (SET"
            " TIMESTAMP), a clock set back, or logs of several servers mixed",
            evidence.backward_event_steps,
        )


def _logs_cascades(flavour: Flavour, version: tuple[int, int, int]) -> bool:
    return flavour is Flavour.MYSQL and version >= _CASCADES_LOGGED_SINCE


def _transactions(evidence: Evidence, kind: str) -> int:
    return sum(one.transactions for one in evidence.kinds if one.kind == kind)


def _names(names: Iterable[str]) -> str:
    """The first names in their order, and how many more there are."""
    return listed(sorted(names), _NAMES_SHOWN)


def _shortened(text: str, size: int = 200) -> str:
    return text if len(text) <= size else f"{text[:size]}…"
