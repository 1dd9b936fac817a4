"""Changes to logs leave them whole where they were not changed, so that what was is reached."""

from __future__ import annotations

from contextlib import suppress

import pytest
import zstandard

from binx.event.header import EventType
from binx.kernels.walk.scan import Level
from binx.source.magic import ZSTD_MAGIC
from tests.conftest import TESTDATA
from tests.fuzz.mutating import changed_log, split
from tests.log.memory import read

SMALL = TESTDATA / "mysql-9.7" / "small"
MOST = 1 << 20
TRIED = 60


def other_bytes(data: bytes, most: int) -> bytes:
    """A byte more or another one, in the middle."""
    middle = len(data) // 2
    return (data[:middle] + b"\x07" + data[middle + len(data) % 2 :])[:most]


def changed(name: str) -> list[bytes]:
    data = (SMALL / f"{name}.binlog").read_bytes()
    return [changed_log(data, MOST, seed, other_bytes) for seed in range(TRIED)]


@pytest.mark.parametrize("name", ["all_types", "compressed", "tagged_gtids", "no_checksum"])
def test_most_changed_logs_have_whole_events(name: str) -> None:
    data = (SMALL / f"{name}.binlog").read_bytes()
    logs = changed(name)
    assert sum(log != data for log in logs) > TRIED * 0.9
    assert sum(split(log)[1] == b"" for log in logs) > TRIED * 0.7


def test_transactions_are_as_long_as_their_gtid_events_say() -> None:
    """Both ways of finding them agree in many logs where a transaction has another size than before."""
    sizes = split((SMALL / "all_types.binlog").read_bytes())[0]
    agreed = 0
    for log in changed("all_types"):
        if list(map(len, split(log)[0])) == list(map(len, sizes)):
            continue
        walked, jumped = (read(log, level, verify=False) for level in (Level.LEVEL_EVENTS, Level.LEVEL_INDEX))
        places = [[one[:2] for one in reading.transactions] for reading in (walked, jumped)]
        agreed += walked.error is None and jumped.error is None and places[0] == places[1]
    assert agreed > TRIED * 0.2


def test_events_within_compressed_ones_are_changed() -> None:
    """Most compressed events still decompress, many to other events than before."""

    def inner(log: bytes) -> list[bytes]:
        payloads = (event for event in split(log)[0] if event[4] == EventType.TRANSACTION_PAYLOAD)
        found = []
        for event in payloads:
            with suppress(ValueError, zstandard.ZstdError):
                stream = event[event.index(ZSTD_MAGIC) :]
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(stream))
        return found

    known = set(inner((SMALL / "compressed.binlog").read_bytes()))
    found = {plain for log in changed("compressed") for plain in inner(log)} - known
    assert len(found) > 3
    assert sum(split(plain, 0)[1] == b"" for plain in found) > len(found) * 0.7
