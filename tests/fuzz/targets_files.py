"""Fuzzing targets of files that binx writes (data sets, Parquet, archives), and of keyrings."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from binx.archive.manifest import decode_manifest, encode_manifest
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.log.binlog_file import BinlogFile
from binx.rows.decoder import DecoderOptions
from binx.source.keyring import read_keyring
from binx.source.opening import decompressed
from binx.storage.seekable import write_seekable
from tests.log.searching import Bytes

_MOST_CUTS = 32


def data_set(data: bytes) -> None:
    """A log as a data set: pyarrow reads each of its files, and finds as many rows as the manifest says."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        options = ParquetOptions(decoder=DecoderOptions(row_group_rows=64), jobs=1, verify=False)
        list(to_parquet([BinlogFile(Bytes(data))], folder, options=options))
        for path in Path(folder).glob("_manifest/*.json"):
            for one in json.loads(path.read_bytes())["files"]:
                if one["path"].endswith(".parquet"):
                    with pq.ParquetFile(Path(folder, one["path"])) as file:
                        table = file.read(use_threads=False)
                    table.validate(full=True)
                    assert table.num_rows == one["rows"]


def _memory() -> str | None:
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() else None


def archived(data: bytes) -> None:
    """Bytes cut into frames anywhere: each part reads as it was."""
    count = min(data[0] % _MOST_CUTS, len(data) - 1) if data else 0
    content = data[1 + count :]
    cuts = sorted(len(content) * cut // 256 for cut in data[1 : 1 + count])
    written = io.BytesIO()
    write_seekable(Bytes(content), cuts, written, frame_bytes=1)
    source = decompressed(Bytes(written.getvalue()), of_logs=False)
    try:
        assert source.size == len(content)
        for start in (0, *cuts, len(content) // 2, *reversed(cuts)):
            assert source.window(start, start + 100) == content[start : start + 100]
    finally:
        source.close()


def archive_manifest(data: bytes) -> None:
    """An archive's manifest: what is understood of it reads as the same, and leads nowhere else."""
    found = decode_manifest(data, "memory")
    assert decode_manifest(encode_manifest(found), "memory") == found
    for one in found.objects:
        assert "/" not in one.path
        assert one.path not in ("", ".", "..")


def keyring(data: bytes) -> None:
    """A keyring, of both kinds."""
    with tempfile.NamedTemporaryFile(dir=_memory()) as file:
        file.write(data)
        file.flush()
        for name, key in read_keyring(file.name).items():
            assert (type(name), type(key)) == (str, bytes)
