"""Writes the tables of a data set again with pyarrow alone: ``python -m bench.pyarrow_writer DATASET OUT``.

Each row group is read into memory and then written with the settings that the data set's own files have, on
one thread; only the writing is timed. Prints one JSON object: seconds of processor time, user and system,
seconds of wall time, and the rows written.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

_DICTIONARY = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_LEVELS = {"RLE", "BIT_PACKED"}
_DICTIONARY_BYTES = 4 * 1024 * 1024


class _Clocks(NamedTuple):
    """Seconds of processor time of this process, and of wall time."""

    user: float
    system: float
    wall: float

    @classmethod
    def now(cls) -> _Clocks:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(usage.ru_utime, usage.ru_stime, time.perf_counter())

    def since(self, begin: _Clocks) -> _Clocks:
        """These and what has passed since the beginning."""
        passed = zip(self, begin, self.now(), strict=True)
        return _Clocks(*(spent + end - start for spent, start, end in passed))


def main(words: list[str]) -> int:
    """Write the data set; returns the exit code."""
    dataset, target = Path(words[0]), Path(words[1])
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    level = _compression_level(dataset)
    spent = _Clocks(0.0, 0.0, 0.0)
    rows = 0
    for number, path in enumerate(sorted(dataset.rglob("*.parquet"))):
        with pq.ParquetFile(path) as file:
            if not file.metadata.num_row_groups:
                continue
            settings = writer_settings(file.metadata, level)
            begin = _Clocks.now()
            writer = pq.ParquetWriter(str(target / f"{number}.parquet"), file.schema_arrow, **settings)
            spent = spent.since(begin)
            for group in range(file.metadata.num_row_groups):
                table = file.read_row_group(group, use_threads=False)
                begin = _Clocks.now()
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                spent = spent.since(begin)
                rows += table.num_rows
            begin = _Clocks.now()
            writer.close()
            spent = spent.since(begin)
    print(json.dumps({**spent._asdict(), "rows": rows}))
    return 0


def writer_settings(metadata: pq.FileMetaData, level: int | None) -> dict[str, Any]:
    """Arguments of ``ParquetWriter`` that give columns encoded like those of a file.

    Where a column's row groups are encoded or compressed in several ways, the one that most values have
    stands for all.

    Args:
        metadata: of the file.
        level: the compression level, which no file records.
    """
    places = range(metadata.num_columns)
    names = [metadata.schema.column(place).path for place in places]
    chosen = [_most_common(metadata, place) for place in places]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    settings: dict[str, Any] = {
        "compression": {
            name: "none" if codec == "UNCOMPRESSED" else codec.lower()
            for name, (_, codec) in zip(names, chosen, strict=True)
        },
        "version": "2.6",
        "use_dictionary": [
            name for name, (encoding, _) in zip(names, chosen, strict=True) if encoding in _DICTIONARY
        ],
        # binx's dictionaries may be larger than pyarrow lets them be by default.
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        "write_statistics": [
            name
            for place, name in zip(places, names, strict=True)
            if any(group.column(place).is_stats_set for group in groups)
        ],
        "store_decimal_as_integer": any(
            _is_integer_decimal(metadata.schema.column(place)) for place in places
        ),
    }
    if level is not None:
        zstd = [name for name, codec in settings["compression"].items() if codec == "zstd"]
        settings["compression_level"] = dict.fromkeys(zstd, level)
    encodings = {
        name: encoding
        for name, (encoding, _) in zip(names, chosen, strict=True)
        if encoding not in _DICTIONARY | {"PLAIN"}
    }
    if encodings:
        settings["column_encoding"] = encodings
    return settings


def _most_common(metadata: pq.FileMetaData, place: int) -> tuple[str, str]:
    """The encoding and the codec that most values of a column have."""
    values: Counter[tuple[str, str]] = Counter()
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(place)
        found = set(chunk.encodings)
        special = sorted(found - _DICTIONARY - _LEVELS - {"PLAIN"})
        encoding = "RLE_DICTIONARY" if found & _DICTIONARY else special[0] if special else "PLAIN"
        values[encoding, chunk.compression] += chunk.num_values
    return values.most_common(1)[0][0]


def _is_integer_decimal(column: pq.ColumnSchema) -> bool:
    logical: str = column.logical_type.type
    return logical == "DECIMAL" and column.physical_type in ("INT32", "INT64")


def _compression_level(dataset: Path) -> int | None:
    for path in sorted(dataset.glob("_manifest/*.json")):
        request = json.loads(path.read_text("utf-8")).get("request", {})
        level: int | None = request.get("compression_level")
        return level
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
