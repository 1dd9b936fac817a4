"""A table's rows at a moment, from its changes in a data set, without Spark and without a load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import AbsentError, BinxError, RefusedError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.moments import Position, format_time, parse_position, parse_time
from binx.spark.lake.arrivals import find_arrivals
from binx.spark.lake.arrow.images import stored_rows
from binx.spark.lake.arrow.types import can_misfit, constant, output_names
from binx.spark.lake.chains import once
from binx.spark.lake.definition import definition_of
from binx.spark.lake.manifests import DataFile, Manifest, list_manifests, read_manifests
from binx.spark.lake.merge import Merge, Piece
from binx.spark.lake.model import Life, TableName
from binx.spark.lake.overlaps import clipped
from binx.spark.lake.place import Place
from binx.spark.lake.plan import plan_load
from binx.spark.lake.repeated import drop_repeated
from binx.spark.lake.selected import left_out
from binx.spark.lake.state import ALL_TABLES, NO_BEGINNING, State

_FILE_BITS = 32
_LAST = (1 << 63) - 1


class TableAt(NamedTuple):
    """A table at a moment.

    Attributes:
        rows: the table's columns, then ``_commit_version`` and ``_commit_timestamp`` of the last change,
            ``_misfits`` where there may be some, and ``_unknown``, the columns that only the server knows.
        moment: as of when, in words.
        missing: why it may not be what the server had, in sentences.
        definition: the statements that make the table as it was then; empty where no CREATE TABLE is logged.
        refused: why these would not make it; empty where they do.
        generated: columns that the server fills.
        key: the key's columns.
    """

    name: TableName
    rows: pa.Table
    moment: str
    missing: list[str]
    definition: list[str]
    refused: str
    generated: frozenset[str]
    key: tuple[str, ...]

    def row(self, values: Sequence[str]) -> TableAt:
        """The same with the row of one key alone.

        Raises:
            UsageError: the key has other columns than values are given for, or of another type.
        """
        if len(values) != len(self.key):
            raise UsageError(f"expected a value for each of {', '.join(self.key)}, found {len(values)}")
        rows = self.rows
        for name, text in zip(self.key, values, strict=True):
            value = constant(text, rows.schema.field(name).type)
            if value is None:
                raise UsageError(f"expected a value of the key's column {name}, found {text!r}")
            rows = rows.filter(pc.equal(rows[name], value))
        return self._replace(rows=rows)


def table_at(lake: str, table: str, at: str | None, keys: Sequence[str] = ()) -> TableAt:
    """The rows of a table at a moment.

    Args:
        lake: what ``to-parquet`` wrote: a folder or a URI.
        table: ``db.table``, as it was called then.
        at: a time (all up to the first transaction that was committed later), a GTID (with it), or FILE:POS
            (what ended there or before); None for the end of the logs.
        keys: the key's columns, of a table that has none.

    Raises:
        AbsentError: there is no such table, or no such transaction or log.
        RefusedError: the table has no key, or several logs are called so.
        UsageError: ``at`` is no moment.
        BinxError: the data set cannot be read.
    """
    place, state = Place(lake), State()
    found = find_arrivals(state, [place], place, wanted=lambda _: True, selection=ALL_TABLES, verify=False)
    order = state.chains.in_order(())
    ranks = {name: rank for rank, name in enumerate(order)}
    logs = _logs(place, state)
    last, moment = _moment(at, logs, ranks)
    statements = [one for one in once(found.statements, ranks) if one.scn <= last[one.chain]]
    before = [clipped(file, [(0, last[file.chain])]) for file in found.files]
    files = drop_repeated(
        [file for file in before if file is not None], (), state.chains.gtids(), ranks, place
    )
    name = TableName(*table.partition(".")[::2])
    given = {table: list(keys)} if keys else {}
    _, lives = plan_load(files, (), statements, found.versions, ranks, {}, keys=given)
    life = next((life for life in lives if life.name == name), None)
    touched = {name, *(unit.file.table for unit in life.units)} if life else {name}
    wrong = [text for one, text in found.wrong.items() if one in touched]
    if wrong:
        raise BinxError(wrong[0], path=lake)
    if life is None:
        listed = ", ".join(sorted(str(one.name) for one in lives if one.name)[:10]) or "no table"
        raise AbsentError(f"as of {moment} there is no table {table}; there are {listed}", path=lake)
    if not life.epochs[-1].key:
        raise RefusedError(f"{table} has no primary key, by which rows are told apart: give one with --key")
    rows, lost = _merge(life, place).rows()
    epoch = life.epochs[-1]
    names = output_names(epoch.columns)
    stored = stored_rows(rows, epoch, names, misfits=any(map(can_misfit, epoch.columns)))
    missing = _missing(life, logs, ranks, last, found.deleted) + left_out(life, state.chains, ranks, last)
    if lost:
        missing.append(f"values that {', '.join(sorted(lost))} had before another type are not known")
    if unknown := len(stored) - stored.column("_unknown").null_count:
        missing.append(f"{unknown:,} rows have values that only the server knows (NULL, see _unknown)")
    facts = {
        number: one.generated
        for unit in life.units
        for number, one in zip(unit.ids, unit.version.columns, strict=True)
    }
    definition, refused = definition_of(name, statements, _texts(logs, last))
    generated = frozenset(name for number, name in names.items() if facts.get(number))
    key = tuple(names[number] for number in epoch.key)
    return TableAt(name, stored, moment, missing, definition, refused, generated, key)


def _merge(life: Life, place: Place) -> Merge:
    return Merge(
        Piece(
            life.id,
            "",
            place.uri,
            tuple(life.epochs),
            0,
            len(life.epochs) - 1,
            None,
            (),
            tuple(life.units),
            (0,),
            "",
            scd2=False,
        )
    )


class _Log(NamedTuple):
    """An export, and the chain of its log."""

    manifest: Manifest
    chain: str

    @property
    def number(self) -> int:
        return self.manifest.source.number

    def transactions(self, *columns: str) -> pa.Table:
        """Columns of its transactions."""
        parts = [_read(file, ["commit_version", *columns]) for file in self.manifest.of_kind("transactions")]
        return pa.concat_tables(parts).sort_by("commit_version")


def _read(file: DataFile, columns: list[str]) -> pa.Table:
    path = file.place.inside(file.path)
    return pq.read_table(path, columns=columns, filesystem=file.place.filesystem, partitioning=None)


def _logs(place: Place, state: State) -> list[_Log]:
    chains = {
        (chain.base, number, log.identity): chain.name
        for chain in map(state.chains.__getitem__, state.chains.gtids())
        for number, log in chain.logs.items()
    }
    manifests = read_manifests(place, list_manifests(place))
    found = []
    for manifest in manifests:
        source = manifest.source
        found.append(_Log(manifest, chains[source.base, source.number, source.identity]))
    return sorted(found, key=lambda one: one.number)


def _moment(at: str | None, logs: Sequence[_Log], ranks: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """For each chain the last commit version that counts, and the moment in words."""
    if at is None:
        return dict.fromkeys(ranks, _LAST), "the end of the logs"
    with suppress(UsageError):
        return _at_time(parse_time(at), logs, ranks)
    with suppress(UsageError):
        gtids = GtidSet.parse(at)
        listed = list(gtids)
        if len(listed) == 1 and listed[0][1] == listed[0][2]:
            return _at_gtid(gtids, at, logs, ranks)
    position = parse_position(at)
    if position.file is None:
        raise UsageError(f"expected a time, a GTID or FILE:POS behind --at, found {at!r}")
    return _at_position(position, logs, ranks)


def _at_time(time: int, logs: Sequence[_Log], ranks: Mapping[str, int]) -> tuple[dict[str, int], str]:
    last = dict.fromkeys(ranks, _LAST)
    for log in logs:
        rows = log.transactions("commit_timestamp")
        later = pc.greater(rows["commit_timestamp"].cast(pa.int64()), time)
        scns = rows["commit_version"].filter(later)
        if len(scns):
            last[log.chain] = min(last[log.chain], scns[0].as_py() - 1)
    return last, format_time(time)


def _at_gtid(
    gtid: GtidSet, text: str, logs: Sequence[_Log], ranks: Mapping[str, int]
) -> tuple[dict[str, int], str]:
    ((source, number, _),) = gtid
    for log in sorted(logs, key=lambda one: (ranks[one.chain], one.number)):
        if not log.manifest.gtids.contains(source, number):
            continue
        rows = log.transactions("gtid").to_pylist()
        for row in rows:
            if row["gtid"] and GtidSet.parse(row["gtid"]).contains(source, number):
                return _up_to(log.chain, row["commit_version"], ranks), f"GTID {text}"
    raise AbsentError(f"the logs of the data set have no transaction {text}")


def _at_position(
    position: Position, logs: Sequence[_Log], ranks: Mapping[str, int]
) -> tuple[dict[str, int], str]:
    named = [log for log in logs if log.manifest.source.name == position.file]
    if len({(log.chain, log.manifest.source.identity) for log in named}) != 1:
        many = "logs of several servers are" if named else "no log of the data set is"
        raise (RefusedError if named else AbsentError)(
            f"{many} called {position.file}; give a GTID or a time"
        )
    rows = pa.concat_tables([log.transactions("end") for log in named])
    ended = rows["commit_version"].filter(pc.less_equal(rows["end"].cast(pa.int64()), position.offset))
    base = named[0].number << _FILE_BITS
    last = max([base, *ended.to_pylist()])
    return _up_to(named[0].chain, last, ranks), f"{position.file}:{position.offset}"


def _up_to(chain: str, scn: int, ranks: Mapping[str, int]) -> dict[str, int]:
    """All of the chains before one, and of it what is up to a commit version."""
    return {one: scn if one == chain else _LAST if rank < ranks[chain] else -1 for one, rank in ranks.items()}


def _missing(
    life: Life,
    logs: Sequence[_Log],
    ranks: Mapping[str, int],
    last: Mapping[str, int],
    deleted: set[TableName],
) -> list[str]:
    """What the logs up to the moment do not tell of the table."""
    found = [] if life.whole else [NO_BEGINNING]
    found += life.reasons
    if reached := sorted(map(str, life.parents & deleted)):
        found.append(
            f"rows that foreign keys deleted or changed with rows of {', '.join(reached)} are not logged"
        )
    since = life.epochs[0].since
    changes = 0
    by_chain: dict[str, dict[int, list[Manifest]]] = defaultdict(lambda: defaultdict(list))
    for log in logs:
        first = since.scn >> _FILE_BITS if since is not None and since.rank == ranks[log.chain] else 0
        early = since is not None and ranks[log.chain] < since.rank
        if not early and first <= log.number <= last[log.chain] >> _FILE_BITS:
            by_chain[log.chain][log.number].append(log.manifest)
            begun = since.scn if since is not None and since.rank == ranks[log.chain] else 0
            changes += _statements(log, begun, last[log.chain])
    if changes:
        found.append(
            f"changes of this table or others were logged as statements: {changes:,}; they are not done"
        )
    for chain, listed in by_chain.items():
        gone = sorted(set(range(min(listed), max(listed))) - set(listed))
        if gone:
            found.append(
                f"{len(gone)} logs of {chain} are not in the data set, the first is number {gone[0]}"
            )
        for manifests in listed.values():
            if not any(manifest.whole for manifest in manifests):
                found += (f"{one.source.name}: {loss}" for one in manifests for loss in one.losses)
    return found


def _statements(log: _Log, first: int, last: int) -> int:
    """How many changes a log has as statements, of whatever tables: triggers may reach any."""
    count = 0
    for file in log.manifest.of_kind("statements"):
        rows = _read(file, ["commit_version", "kind", "effects"])
        scns = rows["commit_version"]
        inside = pc.and_(pc.greater_equal(scns, first), pc.less_equal(scns, last))
        done = pc.and_(pc.equal(rows["kind"], "dml"), pc.equal(pc.list_value_length(rows["effects"]), 0))
        count += pc.sum(pc.and_(inside, done)).as_py() or 0
    return count


def _texts(logs: Sequence[_Log], last: Mapping[str, int]) -> dict[tuple[str, int, int], Any]:
    """Schema statements up to the moment, by chain, commit version and number in the transaction."""
    columns = ["commit_version", "ordinal", "kind", "db", "sql", "sql_is_text", "options", "effects"]
    found = {}
    for log in logs:
        for file in log.manifest.of_kind("statements"):
            rows = _read(file, columns)
            before = pc.less_equal(rows["commit_version"], last[log.chain])
            wanted = pc.and_(before, pc.equal(rows["kind"], "ddl"))
            for row in rows.filter(wanted).to_pylist():
                found[log.chain, row["commit_version"], row["ordinal"]] = row
    return found


__all__ = ["TableAt", "table_at"]
