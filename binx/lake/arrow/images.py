"""Row images in a task: values by column id, so that a user's column name never clashes with binx's own.

A table of images has ``_rank``, ``_scn``, ``_row``, ``_kind`` and ``_time``, and for each column of an epoch
its values ``v<id>``. If there are any, it also has the texts of misfits ``m<id>``, a presence flag ``p<id>``
(null: absent, and the last known value may be outdated), and differences of JSON documents ``d<id>``. Rows of
a state are images of the kind ``BASE``. :mod:`.before_images` adds columns of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.dataset.personal.documents import parsed, printed
from binx.lake.arrow.column_types import arrow_type, constant, plain
from binx.lake.arrow.keys import Numbers, same
from binx.lake.dataset.files import ChangesFile, Version
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.tables.lives import FileSpan, SchemaSpan, TableColumn
from binx.rows.change_groups import ChangePlace

INSERT, BEFORE, AFTER, DELETE, BASE = range(5)
KINDS = {
    "insert": INSERT,
    "update_preimage": BEFORE,
    "update_postimage": AFTER,
    "delete": DELETE,
    "base": BASE,
}
_ROW_END = pa.timestamp("us", "UTC")
_NO_ROW_END = (2_147_483_647_999_999, 4_294_967_295_999_999)
"""ROW END of current rows in tables with MariaDB's system versioning: until 11.5, and since."""
HEAD = pa.schema(
    [
        ("_rank", pa.int32()),
        ("_scn", pa.int64()),
        ("_row", pa.int64()),
        ("_kind", pa.int8()),
        ("_time", pa.timestamp("us", "UTC")),
    ]
)

_OPTIONAL = ("_until", "_first", "_before", "_differing")


def schema_of(epoch: SchemaSpan) -> pa.Schema:
    """Return the columns that all images of an epoch have."""
    return pa.schema([*HEAD, *((f"v{column.id}", arrow_type(column.arrow_type)) for column in epoch.columns)])


def united(parts: list[pa.Table], epoch: SchemaSpan) -> pa.Table:
    """Concatenate images; optional columns that only some parts have are added to the others."""
    optional = {
        name: part.schema.field(name).type
        for part in parts
        for name in part.column_names
        if name[0] in "mpd" or name in _OPTIONAL
    }
    schema = schema_of(epoch)
    tables = []
    for part in parts:
        columns = {name: part.column(name) for name in schema.names}
        for name, kind in optional.items():
            is_present = name in part.column_names
            missing = pa.scalar(True) if name[0] == "p" else pa.scalar(None, kind)
            columns[name] = part.column(name) if is_present else pa.repeat(missing, len(part))
        tables.append(pa.table(columns))
    if not tables:
        return schema.empty_table()
    return pa.concat_tables(tables)


def read_images(
    file: pq.ParquetFile, unit: FileSpan, epoch: SchemaSpan, names: list[str] | None = None
) -> Iterator[pa.Table]:
    """Yield a unit's images by row group; both images of an update stay together.

    If ``names`` lacks ``_change_type``, only the values of columns are returned.
    """
    preimage: pa.Table | None = None
    for group in range(file.metadata.num_row_groups):
        if not _reaches(file, group, unit):
            continue
        rows = file.read_row_group(group, columns=names, use_threads=False)
        rows = rows.filter(counts(rows.column("_commit_version"), unit))
        if unit.before is not None:
            rows = rows.filter(is_before(rows, unit.before))
        rows = rows if preimage is None else pa.concat_tables([preimage, rows]).unify_dictionaries()
        preimage = None
        is_whole = "_change_type" not in rows.column_names
        if len(rows) and not is_whole and rows.column("_change_type")[-1].as_py() == "update_preimage":
            preimage, rows = rows.slice(len(rows) - 1), rows.slice(0, len(rows) - 1)
        if len(rows):
            yield _images(rows, unit, epoch)
    if preimage is not None:
        yield _images(preimage, unit, epoch)


def _reaches(file: pq.ParquetFile, group: int, unit: FileSpan) -> bool:
    """Whether a row group may have rows of the unit, by its statistics."""
    index = file.schema_arrow.get_field_index("_commit_version")
    statistics = file.metadata.row_group(group).column(index).statistics if index == 1 else None
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min <= unit.last and statistics.max >= unit.first)


def counts(scns: pa.ChunkedArray, unit: FileSpan) -> pa.ChunkedArray:
    """Return a mask of the rows that belong to a unit."""
    inside = pc.and_(pc.greater_equal(scns, unit.first), pc.less_equal(scns, unit.last))
    out = [*unit.excluded, *unit.file.dropped]
    if out:
        inside = pc.and_(inside, pc.invert(pc.is_in(scns, pa.array(out, pa.int64()))))
    if unit.file.spans:
        within: Any = pa.chunked_array([pa.repeat(pa.scalar(False), len(scns))])
        for first, last in unit.file.spans:
            within = pc.or_(within, pc.and_(pc.greater_equal(scns, first), pc.less_equal(scns, last)))
        inside = pc.and_(inside, within)
    return inside


def is_before(rows: pa.Table, place: ChangePlace) -> pa.ChunkedArray:
    """Return which images are of changes before one, in their chain."""
    versions = rows.column("_commit_version")
    earlier = pc.and_(pc.equal(versions, place.version), pc.less(rows.column("_row"), place.row))
    return pc.or_(pc.less(versions, place.version), earlier)


def all_of(file: ChangesFile) -> FileSpan:
    """Return a unit of all rows of a file that count."""
    return FileSpan(file, Version("", ()), ChangePosition(0, 0), file.first, file.last, 0, ())


def _images(rows: pa.Table, unit: FileSpan, epoch: SchemaSpan) -> pa.Table:
    indexes = {number: index for index, number in enumerate(unit.ids)}
    known = set(rows.column_names)
    columns: dict[str, Any] = {}
    if "_change_type" in known:
        kinds = pc.index_in(rows.column("_change_type").cast(pa.string()), pa.array(list(KINDS)))
        columns = {
            "_rank": pa.repeat(pa.scalar(unit.at.rank, pa.int32()), len(rows)),
            "_scn": rows.column("_commit_version"),
            "_row": rows.column("_row"),
            "_kind": kinds.cast(pa.int8()),
            "_time": rows.column("_commit_timestamp"),
        }
    for column in epoch.columns:
        index, kind = indexes.get(column.id), arrow_type(column.arrow_type)
        if index is None:
            columns[f"v{column.id}"] = pa.nulls(len(rows), kind)
            columns[f"p{column.id}"] = pa.repeat(pa.scalar(False), len(rows))
        else:
            columns[f"v{column.id}"] = plain(rows.column(unit.version.columns[index].name), kind)
    wanted = {column.id for column in epoch.columns}
    ids = {unit.version.columns[index].name: number for number, index in indexes.items() if number in wanted}
    if "_misfits" in known:
        columns |= _texts("m", rows.column("_misfits"), iter, ids)
    if "_json_diff" in known:
        columns |= _texts("d", rows.column("_json_diff"), _differences, ids)
    if "_present" in known and rows.column("_present").null_count < len(rows):
        _present(columns, rows.column("_present"), unit, epoch)
    if "_kind" in columns:
        _end_versions(columns, unit)
    return pa.table(columns)


def _end_versions(columns: dict[str, Any], unit: FileSpan) -> None:
    """Turn images of ended rows into deletes, in tables with MariaDB's system versioning (sql/handler.cc)."""
    for number, column in zip(unit.ids, unit.version.columns, strict=True):
        values = columns.get(f"v{number}")
        # Tables versioned by transaction number are logged only as statements.
        if column.generated == "row_end" and values is not None and values.type == _ROW_END:
            is_current = pc.is_in(values, pa.array(_NO_ROW_END, _ROW_END))
            ended = pc.and_not(values.is_valid(), pc.or_(is_current, pc.equal(columns["_kind"], BEFORE)))
            columns["_kind"] = pc.if_else(ended, pa.scalar(DELETE, pa.int8()), columns["_kind"])


def _texts(
    kind: str,
    column: pa.ChunkedArray,
    texts_of: Callable[[Any], Iterable[tuple[str, str]]],
    ids: Mapping[str, int],
) -> dict[str, pa.Array]:
    """Return a column of misfits' texts, or of differences, for each column that has any."""
    texts: dict[str, list[str | None]] = {}
    for row in np.flatnonzero(np.asarray(column.is_valid().to_numpy(), bool)).tolist():
        for name, text in texts_of(column[row].as_py()):
            texts.setdefault(name, [None] * len(column))[row] = text
    return {
        f"{kind}{ids[name]}": pa.array(listed, pa.string()) for name, listed in texts.items() if name in ids
    }


def _differences(text: str) -> Iterator[tuple[str, str]]:
    # Numbers keep their digits.
    yield from ((name, printed(difference)) for name, difference in parsed(text).items())


def _bits(column: pa.ChunkedArray, count: int) -> Numbers:
    """Return for each row and column whether the image has it."""
    masks = np.ones((len(column), count), bool)
    known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
    if known.any():
        width = (count + 7) // 8
        data = b"".join(value.as_py()[:width].ljust(width, b"\0") for value in column.filter(pa.array(known)))
        bits = np.frombuffer(data, np.uint8).reshape(-1, width)
        masks[known] = np.unpackbits(bits, axis=1, bitorder="little")[:, :count].astype(bool)
    return masks


def _present(columns: dict[str, Any], present: pa.ChunkedArray, unit: FileSpan, epoch: SchemaSpan) -> None:
    """Add presence flags; fill absent values with defaults (inserts) or the key before (updates)."""
    bits = _bits(present, len(unit.ids))
    kinds = np.asarray(columns["_kind"])
    pairs = pairs_of(pa.table({name: columns[name] for name in HEAD.names}))
    absences: dict[int, Numbers] = {}
    for index, number in enumerate(unit.ids):
        known = bits[:, index]
        if f"v{number}" not in columns or known.all():
            continue
        name, kind = f"v{number}", arrow_type(epoch.column(number).arrow_type)
        lacking = (kinds == INSERT) & ~known
        default = unit.version.columns[index].absent
        if lacking.any() and default is not None:
            value = constant(default.value, kind)
            if value is not None or default.misfit is not None:
                filled = pa.scalar(None, kind) if value is None else value
                columns[name] = pc.if_else(pa.array(lacking), filled, columns[name])
                known = known | lacking
                if default.misfit is not None:
                    texts = columns.get(f"m{number}", pa.nulls(len(known), pa.string()))
                    columns[f"m{number}"] = pc.if_else(pa.array(lacking), default.misfit, texts)
        if number in epoch.key:
            before = np.where(pairs & ~known, np.arange(len(known)) - 1, np.arange(len(known)))
            for part in (name, f"m{number}"):
                if part in columns:
                    columns[part] = columns[part].take(pa.array(before))
            known = known | (pairs & known[before])
        absences[index] = known
    # What these are compared with may itself be filled in above.
    for index, known in absences.items():
        changes_with, lapsed = unit.version.columns[index].changes_with, None
        if changes_with is not None:
            lapsed = ~known & (kinds == AFTER) & _changed(columns, changes_with, bits, pairs, unit)
        columns[f"p{unit.ids[index]}"] = pa.array(known, mask=lapsed)


def _changed(
    columns: Mapping[str, Any], names: Collection[str], bits: Numbers, pairs: Numbers, unit: FileSpan
) -> Numbers:
    """Return the after images in which any of some columns may differ from the row before; all for none."""
    if not names:
        return np.ones(len(pairs), bool)
    before = np.maximum(np.arange(len(pairs)) - 1, 0)
    changed = np.zeros(len(pairs), bool)
    for index, column in enumerate(unit.version.columns):
        if column.source_name not in names:
            continue
        name, misfits = f"v{unit.ids[index]}", f"m{unit.ids[index]}"
        equal = pairs & bits[before, index]
        if name in columns and not pa.types.is_nested(columns[name].type):
            values = pa.table({part: columns[part] for part in (name, misfits) if part in columns})
            equal &= same(values, values.take(pa.array(before)))
        else:
            equal[:] = False
        changed |= bits[:, index] & ~equal
    return changed


def pairs_of(rows: pa.Table) -> Numbers:
    """Return a mask of after images whose before image is the previous row."""
    mask = np.zeros(len(rows), bool)
    if len(rows) < 2:
        return mask
    kinds = rows.column("_kind").to_numpy()
    mask[1:] = (kinds[1:] == AFTER) & (kinds[:-1] == BEFORE)
    for name in ("_row", "_scn", "_rank"):
        values = rows.column(name).to_numpy()
        mask[1:] &= values[1:] == values[:-1]
    return mask


def is_partial(rows: pa.Table) -> bool:
    """Whether any image lacks a column."""
    return any(name[0] in "pd" for name in rows.column_names)


def base_rows(rows: pa.Table, columns: tuple[TableColumn, ...], names: Mapping[int, str]) -> pa.Table:
    """Return the rows of a file of ``current/`` or ``scd2/`` as images."""
    count = len(rows)
    time = "_commit_timestamp" if "_commit_timestamp" in rows.column_names else "valid_from"
    images: dict[str, Any] = {
        "_rank": pa.repeat(pa.scalar(-1, pa.int32()), count),
        "_scn": rows.column("_commit_version"),
        "_row": pa.repeat(pa.scalar(0, pa.int64()), count),
        "_kind": pa.repeat(pa.scalar(BASE, pa.int8()), count),
        "_time": rows.column(time),
    }
    if "_deleted" in rows.column_names:
        images["_kind"] = pc.if_else(
            rows.column("_deleted"), pa.scalar(DELETE, pa.int8()), pa.scalar(BASE, pa.int8())
        )
    if "valid_to" in rows.column_names:
        images["_until"] = rows.column("valid_to")
    for column in columns:
        images[f"v{column.id}"] = plain(rows.column(names[column.id]), arrow_type(column.arrow_type))
    ids = {name: number for number, name in names.items()}
    if "_misfits" in rows.column_names:
        images |= _texts("m", rows.column("_misfits"), iter, ids)
    unknown = rows.column("_unknown")
    if unknown.null_count < count:
        missing: dict[str, Numbers] = {}
        for row, listed in enumerate(unknown.to_pylist()):
            for name in listed or ():
                missing.setdefault(name, np.ones(count, bool))[row] = False
        images |= {f"p{ids[name]}": pa.array(known) for name, known in missing.items() if name in ids}
    return pa.table(images)


def stored_rows(rows: pa.Table, epoch: SchemaSpan, names: Mapping[int, str], misfits: bool) -> pa.Table:
    """Return images as a file of ``current/`` has them: the table's columns, then the loader's own."""
    arrays: dict[str, Any] = {}
    for column in epoch.columns:
        values, known = rows.column(f"v{column.id}"), f"p{column.id}"
        if known in rows.column_names:
            values = pc.if_else(rows.column(known), values, pa.scalar(None, values.type))
        arrays[names[column.id]] = values
    arrays["_commit_version"] = rows.column("_scn")
    arrays["_commit_timestamp"] = rows.column("_time")
    if misfits:
        arrays["_misfits"] = _by_row(rows, {f"m{number}": name for number, name in names.items()}, pairs=True)
    arrays["_unknown"] = _by_row(rows, {f"p{number}": name for number, name in names.items()}, pairs=False)
    return pa.table(arrays)


def _by_row(rows: pa.Table, wanted: Mapping[str, str], *, pairs: bool) -> pa.Array:
    """Return each row's misfits as pairs of name and text, or the names of its unknown columns."""
    kind = pa.map_(pa.string(), pa.string()) if pairs else pa.list_(pa.string())
    listed: list[list[Any] | None] = [None] * len(rows)
    any_found = False
    for name, column in wanted.items():
        if name not in rows.column_names:
            continue
        values = rows.column(name)
        mask = values.is_valid() if pairs else pc.invert(values)
        for row in np.flatnonzero(np.asarray(mask.to_numpy(), bool)):
            any_found = True
            entry = (column, values[int(row)].as_py()) if pairs else column
            entries = listed[int(row)]
            if entries is None:
                listed[int(row)] = [entry]
            else:
                entries.append(entry)
    return pa.array(listed, kind) if any_found else pa.nulls(len(rows), kind)
