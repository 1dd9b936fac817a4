"""pyarrow writing a data set's tables again."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.pyarrow_writer import main, writer_settings

TABLE = pa.table(
    {
        "id": list(range(1000)),
        "text": ["a", "b"] * 500,
        "twice": [1.5, 2.5] * 500,
        "price": [Decimal("0.50"), Decimal("1.00")] * 500,
    }
)


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "zstd", "use_dictionary": ["text"], "column_encoding": {"id": "DELTA_BINARY_PACKED"}},
        {"compression": "snappy", "use_dictionary": True},
        {"compression": "zstd", "write_statistics": ["id"], "store_decimal_as_integer": True},
        {"compression": "none", "use_dictionary": False, "write_statistics": False},
        {"compression": "zstd", "use_dictionary": ["id"], "column_encoding": {"twice": "BYTE_STREAM_SPLIT"}},
    ],
)
def test_settings_taken_from_a_file_encode_columns_as_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pq.write_table(TABLE, first, **settings)
    pq.write_table(TABLE, second, **writer_settings(pq.read_metadata(first), 1))
    columns = [pq.read_metadata(path).row_group(0).to_dict()["columns"] for path in (first, second)]
    for one, other in zip(*columns, strict=True):
        assert one["encodings"] == other["encodings"]
        assert one["physical_type"] == other["physical_type"]
        assert one["compression"] == other["compression"]
        assert one["is_stats_set"] == other["is_stats_set"]


def test_all_tables_of_a_data_set_are_written_and_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset, target = tmp_path / "dataset", tmp_path / "target"
    for folder in (dataset / "changes" / "shop", dataset / "_manifest", target):
        folder.mkdir(parents=True)
    pq.write_table(TABLE, dataset / "changes" / "shop" / "a.parquet", row_group_size=400)
    (dataset / "_manifest" / "a.json").write_text(json.dumps({"request": {"compression_level": 1}}))
    assert main([str(dataset), str(target)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == TABLE.num_rows
    assert told["cpu"] > 0
    with pq.ParquetFile(next(target.iterdir())) as written:
        assert written.read().equals(TABLE)
        assert written.metadata.num_row_groups == 3
