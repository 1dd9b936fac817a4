"""What ``verify`` passes, every reader reads: logs with changed bytes whose checksums are right again."""

from __future__ import annotations

import io
import os
import random
import struct
import zlib
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from binx.cli.application import application
from binx.errors import BinxError, DamagedError, UndecodableError, UnsupportedError
from binx.event.header import HEADER_SIZE
from binx.verify import verify
from tests.conftest import TESTDATA
from tests.fuzz.mutating import split

LOGS = sorted(TESTDATA.glob("*/small/*.binlog"))
MUTATED = int(os.environ.get("BINX_MUTATED_LOGS", "150"))
"""How many logs are changed; 2,000 take three minutes."""
SHARES = 10
READERS = (
    ("ls",),
    ("events", "--inner"),
    ("extract", "-o", "{folder}/binlog"),
    ("extract", "--format", "sql", "-o", "{folder}/sql"),
    ("extract", "--format", "json", "--rows", "-o", "{folder}/json"),
    ("to-parquet", "-o", "{folder}/lake"),
)


def mutated(seed: int) -> bytes:
    """A log in whose events, each type as often, one or two bytes differ; its checksums are right."""
    dice = random.Random(seed)
    data = LOGS[seed % len(LOGS)].read_bytes()
    events, rest = split(data)
    checksum = (
        4
        if all(zlib.crc32(event[:-4]) == int.from_bytes(event[-4:], "little") for event in events[1:])
        else 0
    )
    by_type: dict[int, list[int]] = defaultdict(list)
    for number, event in enumerate(events[1:], 1):
        if len(event) > HEADER_SIZE + checksum:
            by_type[event[4]].append(number)
    chosen = dice.choice(by_type[dice.choice(sorted(by_type))])
    changed = bytearray(events[chosen])
    body = len(changed) - HEADER_SIZE - checksum
    for _ in range(dice.choice((1, 1, 1, 2))):
        # The beginning of an event says how the rest is read.
        at = min(dice.randrange(body) for _ in range(dice.choice((1, 2))))
        changed[HEADER_SIZE + at] ^= 1 << dice.randrange(8) if dice.random() < 0.7 else dice.randrange(1, 256)
    if checksum:
        changed[-4:] = struct.pack("<I", zlib.crc32(changed[:-4]))
    events[chosen] = bytes(changed)
    return data[:4] + b"".join(events) + rest


def refusal(command: tuple[str, ...], log: Path, folder: Path) -> BinxError | None:
    """Why a command refuses a log for what is in it; None if it does not."""
    folder.mkdir()
    arguments = [part.format(folder=folder) for part in command]
    silence = io.TextIOWrapper(io.BytesIO())
    try:
        with (
            redirect_stdout(silence),
            redirect_stderr(silence),
            application.make_context("binx", [*arguments, str(log)]) as context,
        ):
            application.invoke(context)
    except UndecodableError:
        # The log is whole, but tells too little of a table.
        return None
    except (DamagedError, UnsupportedError) as error:
        return error
    except BinxError:
        return None
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(SHARES))
def test_what_verify_passes_every_reader_reads(share: int, tmp_path: Path) -> None:
    log = tmp_path / "mysql-bin.000001"
    passed = 0
    for seed in range(share, MUTATED, SHARES):
        log.write_bytes(mutated(seed))
        if verify([str(log)]).problems:
            continue
        passed += 1
        for number, command in enumerate(READERS):
            assert refusal(command, log, tmp_path / f"{seed}-{number}") is None, (seed, command)
    assert passed
