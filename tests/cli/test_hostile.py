"""Small files made to do harm, and large rows: none takes much memory or time, or writes elsewhere."""

from __future__ import annotations

import gzip
import random
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from bench import limits
from tests.cli.process import binx_with
from tests.log import building as b
from tests.sanitizers import SANITIZED

pytestmark = pytest.mark.sweep

ADDRESSES = 3 << 30
PEAK = 180 << 20
WIDE_PEAK = 300 << 20
"""For Parquet of thousands of columns: 20 million cells took 190 MiB."""
SERVERS = 80_000
HUGE = b"\xfe" + struct.pack("<Q", (1 << 63) - 1)
MANY = b"\xfe" + struct.pack("<Q", 1 << 40)


@dataclass(frozen=True)
class Cost:
    """How a command ended, and what it took: CPU seconds, and bytes of memory beside what was loaded."""

    code: int
    seconds: float
    peak: int
    text: str


LIMITED = """
import atexit, resource

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open({told!r}, "w") as out:
        print(status("VmHWM") - begun, used.ru_utime + used.ru_stime, file=out)

begun = status("VmRSS")
atexit.register(tell)
if {addresses}:
    resource.setrlimit(resource.RLIMIT_AS, ({addresses}, {addresses}))
resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
"""
"""Tells how much more memory was resident in the end than in the beginning, and how long it took."""


def run(folder: Path, *arguments: str) -> Cost:
    """Run binx with little memory."""
    with tempfile.NamedTemporaryFile() as told:
        code = LIMITED.format(told=told.name, addresses=0 if SANITIZED else ADDRESSES)
        ended = binx_with(code, *arguments, cwd=folder)
        peak, seconds = map(float, told.read().split() or (0, 600))
    return Cost(ended.code, seconds, 0 if SANITIZED else int(peak) * 1024, ended.out + ended.err)


def sized(event: bytes, size: int) -> bytes:
    """An event that claims another size."""
    return event[:9] + struct.pack("<I", size) + event[13:]


def table_map(columns: bytes, metadata: bytes) -> bytes:
    return b.event(19, (9).to_bytes(6, "little") + b"\0\0\x04shop\0\x06orders\0" + columns + metadata)


def write_rows(columns: bytes, images: bytes) -> bytes:
    return b.event(30, (9).to_bytes(6, "little") + struct.pack("<HH", 1, 2) + columns + images)


def column(kind: int, metadata: bytes, value: bytes) -> tuple[bytes, ...]:
    """A row of one column whose value claims more than there is."""
    mapped = table_map(bytes([1, kind]), bytes([len(metadata)]) + metadata + b"\0")
    return b.BEGIN, mapped, write_rows(b"\x01\x01", b"\0" + value), b.xid()


def mariadb_compressed(claimed: int, data: bytes) -> bytes:
    """MariaDB's compressed rows event: a head that tells how large it is unpacked."""
    head = (9).to_bytes(6, "little") + struct.pack("<HH", 1, 2) + b"\x01\x01"
    return b.event(169, head + bytes([0x84]) + struct.pack(">I", claimed) + zlib.compress(data, 9))


def columns_of(count: int) -> bytes:
    """How many columns there are, length-encoded."""
    return bytes([count]) if count < 251 else b"\xfc" + struct.pack("<H", count)


def narrow_rows(columns: int, rows: int, table_id: int = 9) -> tuple[bytes, bytes]:
    """Rows of one byte of a table of many BIGINTs: but one column is absent, and that is NULL."""
    head, count = table_id.to_bytes(6, "little"), columns_of(columns)
    bits = bytes((columns + 7) // 8)
    name = b"%06d" % table_id
    mapped = head + b"\0\0\x04shop\0\x06" + name + b"\0" + count + b"\x08" * columns + b"\0" + bits
    present = b"\x01" + bits[1:]
    return b.event(19, mapped), b.event(
        30, head + struct.pack("<HH", 1, 2) + count + present + b"\x01" * rows
    )


DOCUMENT = b"\x02" + struct.pack("<HH", 0xFFFF, 0xFFFF)
ZEROS = bytes(1 << 20)
LOGS: dict[str, Callable[[], bytes]] = {
    "an event of 4 GB": lambda: b.whole_log(b.gtid(1), sized(b.BEGIN, 0xFFFFFFFF)),
    "an event of 2 GB": lambda: b.whole_log(b.gtid(1), sized(b.BEGIN, 0x7FFFFFFF)),
    "an event of no size": lambda: b.whole_log(b.gtid(1), sized(b.BEGIN, 0)),
    "2 to 63 columns": lambda: b.whole_log(b.gtid(1), b.BEGIN, table_map(HUGE, b""), b.rows(1), b.xid()),
    "2 to 40 columns": lambda: b.whole_log(b.gtid(1), b.BEGIN, table_map(MANY, b""), b.rows(1), b.xid()),
    "metadata of 2 to 40 bytes": lambda: b.whole_log(
        b.gtid(1), b.BEGIN, table_map(b"\1\3", MANY), b.rows(1), b.xid()
    ),
    "rows of 2 to 40 columns": lambda: b.whole_log(
        b.gtid(1), b.BEGIN, b.table_map(), write_rows(MANY, b"\xff" * 8), b.xid()
    ),
    "columns that take no byte": lambda: b.whole_log(
        b.gtid(1), b.BEGIN, table_map(b"\0", b"\0"), write_rows(b"\0", bytes(40)), b.xid()
    ),
    "a blob of 4 GB": lambda: b.whole_log(b.gtid(1), *column(252, b"\x04", b"\xff" * 4 + b"abc")),
    "a JSON document of 4 GB": lambda: b.whole_log(b.gtid(1), *column(245, b"\x04", b"\xff" * 4 + DOCUMENT)),
    "a JSON array of 65,535 members": lambda: b.whole_log(
        b.gtid(1), *column(245, b"\x04", struct.pack("<I", len(DOCUMENT)) + DOCUMENT)
    ),
    "a text of 65,535 bytes": lambda: b.whole_log(b.gtid(1), *column(15, b"\xff\xff", b"\xff\xff" + b"abc")),
    "a decimal of 255 digits": lambda: b.whole_log(b.gtid(1), *column(246, b"\xff\xff", b"\x80" * 10)),
    "a payload that claims 2 to 62 bytes": lambda: b.whole_log(
        b.gtid(1), b.compressed(b.BEGIN, claimed=1 << 62)
    ),
    "a payload that unpacks to 64 MB": lambda: b.whole_log(b.gtid(1), b.compressed(*[ZEROS] * 64)),
    "a payload that is a row of 64 MB of zeros": lambda: b.whole_log(
        b.gtid(1), b.compressed(b.BEGIN, b.table_map(), sized(b.event(30, ZEROS), 1 << 30), *[ZEROS] * 64)
    ),
    "a payload in a payload": lambda: b.whole_log(
        b.gtid(1), b.compressed(b.compressed(b.compressed(b.BEGIN)))
    ),
    "compressed rows that claim 4 GB": lambda: b.whole_log(
        b.mariadb_gtid(1), b.BEGIN, b.table_map(), mariadb_compressed(0xFFFFFFFF, b"\0" * 9), b.xid()
    ),
    "compressed rows that unpack to 64 MB": lambda: b.whole_log(
        b.mariadb_gtid(1), b.BEGIN, b.table_map(), mariadb_compressed(100, bytes(64 << 20)), b.xid()
    ),
    "5,000 rows of one byte of 4,096 columns": lambda: b.whole_log(
        b.gtid(1), b.BEGIN, *narrow_rows(4_096, 5_000), b.xid()
    ),
    "400 tables of 100 columns": lambda: b.whole_log(
        b.gtid(1), b.BEGIN, *(part for table in range(400) for part in narrow_rows(100, 1, table)), b.xid()
    ),
    "GTIDs of 2 to 48 servers": lambda: b.whole_log(b.event(35, struct.pack("<Q", (1 << 48) - 1)), b.gtid(1)),
    "GTIDs of 2 to 28 domains": lambda: b.whole_log(
        b.event(163, struct.pack("<I", (1 << 28) - 1)), b.gtid(1)
    ),
    "a session of 4 GB": lambda: b.whole_log(
        b.gtid(1), b.event(2, struct.pack("<IIBHH", 1, 1, 255, 0, 0xFFFF) + b"shop\0DROP TABLE a")
    ),
    "gzip of 200 MB of zeros": lambda: gzip.compress(b.whole_log() + bytes(200 << 20), mtime=0),
    "zstd of 200 MB of zeros": lambda: zstandard.compress(b.whole_log() + bytes(200 << 20)),
    "a zstd frame with a window of 2 GB": lambda: b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00" + bytes(40),
    "a zstd frame that claims 2 to 60 bytes": lambda: (
        b"\x28\xb5\x2f\xfd\xc0\x58" + struct.pack("<Q", 1 << 60) + b"\x01\0\0"
    ),
}
WIDE = ("5,000 rows of one byte of 4,096 columns", "400 tables of 100 columns")
COMMANDS = {
    "verify": ["verify"],
    "events": ["events", "--inner"],
    "json": ["extract", "--format", "json", "--rows", "-o", "out"],
    "to-parquet": ["to-parquet", "-o", "lake", "--on-damage", "salvage"],
}


def list_of_servers(folder: Path, servers: Iterable[bytes], *options: str) -> Cost:
    """List a log of one statement from each server."""
    statement = b.query("DROP TABLE a")
    log = b"".join(b.gtid(1, server) + statement for server in servers)
    (folder / "mysql-bin.000001").write_bytes(b.whole_log() + log)
    cost = run(folder, "ls", *options, "mysql-bin.000001")
    assert cost.code == 0, cost.text[-1000:]
    return cost


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory: pytest.TempPathFactory) -> float:
    """CPU seconds of a list of many statements, on this machine: somewhat less than one."""
    return list_of_servers(tmp_path_factory.mktemp("yardstick"), [bytes(16)] * 20_000).seconds


@pytest.mark.parametrize("name", LOGS)
def test_a_small_file_takes_little_memory_and_time(name: str, tmp_path: Path, yardstick: float) -> None:
    (tmp_path / "mysql-bin.000001").write_bytes(LOGS[name]())
    for command in COMMANDS.values():
        cost = run(tmp_path, *command, "mysql-bin.000001")
        assert cost.code in (0, 1, 3, 4), (command, cost.text)
        assert "bug in binx" not in cost.text, (command, cost.text)
        assert "Traceback" not in cost.text, (command, cost.text)
        is_wide = command[0] == "to-parquet" and name in WIDE
        assert cost.peak < (WIDE_PEAK if is_wide else PEAK), (command, cost.peak >> 20)
        assert cost.seconds < 16 * yardstick, (command, cost.seconds)


WORD = (1 << 64) - 1


def servers_of_one_hash(count: int) -> Iterator[bytes]:
    """Identifiers of servers that had one hash before tables had seeds: the second half undoes the first."""
    for number in range(count):
        state = ((16 * 0x9E3779B97F4A7C15 ^ number) * 0x9FB21C651E98DF25) & WORD
        yield struct.pack("<QQ", number, state ^ state >> 32)


def test_many_servers_take_little_time_whatever_they_are_called(tmp_path: Path, yardstick: float) -> None:
    """Without their statements the list takes a tenth of that; it took many times as much with one hash."""
    assert list_of_servers(tmp_path, servers_of_one_hash(SERVERS), "--quick").seconds < yardstick


ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b1m\u202e\r\b"
NAMES = [
    "../../../up",
    "/tmp/absolute",
    "..",
    ".",
    "a/b",
    "nul\x00",
    "CON",
    "a" * 60,
    ESCAPE[:12],
    "%2e%2e",
    "-o",
    "*",
]


def named_map(db: str, table: str) -> bytes:
    parts = b"".join(bytes([len(name)]) + name + b"\0" for name in (db.encode(), table.encode()))
    return b.event(19, (9).to_bytes(6, "little") + b"\0\0" + parts + b"\x01\x03\x00\x00")


def hostile_log() -> bytes:
    """Every name as a database and as a table, in statements, and as the file that follows."""
    events = []
    for number, name in enumerate(NAMES):
        events += [b.gtid(2 * number + 1), b.BEGIN, named_map(name, name), b.rows(number), b.xid()]
        sql = f"CREATE TABLE `{name}` (a INT) COMMENT '{ESCAPE}'"
        events += [b.gtid(2 * number + 2), b.query(sql)]
    return b.whole_log(*events, b.event(4, struct.pack("<Q", 4) + f"../../{ESCAPE}".encode()))


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "mysql-bin.000001").write_bytes(hostile_log())
    cost = run(folder, "to-parquet", "-o", "lake", "mysql-bin.000001")
    assert cost.code in (0, 3), cost.text
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    lake = folder / "lake"
    assert len([path for path in written if path.suffix == ".parquet"]) >= len(NAMES)
    assert all(path == folder / "mysql-bin.000001" or path.is_relative_to(lake) for path in written)
    for path in written:
        assert path.relative_to(tmp_path).as_posix().isprintable()
        assert ".." not in path.relative_to(lake).parts if path.is_relative_to(lake) else True
    assert not Path("/tmp/absolute").exists()


SIZE = 16 << 20
COPIES = 5
"""Some 3 at rest; on a busy machine, one is freed after the next one is made."""
GTID = "00010203-0405-0607-0809-0a0b0c0d0e0f:1"
SCHEMA = "USE shop; CREATE TABLE files (id BIGINT PRIMARY KEY, b {});"

READERS = {
    "sql": ("extract", "--format", "sql", "--schema", "SCHEMA"),
    "json": ("extract", "--format", "json"),
    "rows": ("extract", "--format", "json", "--rows"),
    "thl": ("extract", "--format", "thl"),
    "show": ("show", "--gtid", GTID),
    "show --json": ("show", "--gtid", GTID, "--json"),
    "why": ("why", "--schema", "SCHEMA", "--table", "shop.files", "--pk", "1"),
    "why --json": ("why", "--schema", "SCHEMA", "--table", "shop.files", "--pk", "1", "--json"),
}
"""Each reads a limits.BLOB or, where no schema tells that it is one, a text that is none."""


def log_with(path: Path, size: int) -> Path:
    """A log of one row."""
    data = random.Random(3).randbytes(size)
    with path.open("w+b") as out:
        rows = limits.write_rows(2, b"\0" + struct.pack("<qI", 1, len(data)) + data)
        limits.LogWriter(out).transaction(
            iter((limits.table_map("files", bytes([limits.LONGLONG, limits.BLOB]), b"\x04"), rows))
        )
    return path


@pytest.mark.parametrize("name", READERS)
def test_memory_does_not_grow_by_more_than_some_copies_of_a_row(name: str, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA.format("LONGBLOB"))
    arguments = ["schema.sql" if one == "SCHEMA" else one for one in READERS[name]]
    arguments += ["-o", "out", "--force"] if arguments[0] == "extract" else []
    small, large = (
        run(tmp_path, *arguments, str(log_with(tmp_path / f"{name.replace(' ', '')}.{size}", size)))
        for size in (100, SIZE)
    )
    assert (small.code, large.code) == (0, 0), large.text[-500:]
    assert large.peak - small.peak < COPIES * SIZE


def test_what_is_cut_for_people_is_whole_in_json(tmp_path: Path) -> None:
    log = log_with(tmp_path / "log.000001", 2 << 20)
    (tmp_path / "schema.sql").write_text(SCHEMA.format("LONGBLOB"))
    why = ("why", "--schema", "schema.sql", "--table", "shop.files", "--pk", "1", str(log))
    shown = run(tmp_path, *why).text
    digits = random.Random(3).randbytes(2 << 20)
    assert f"0x{digits[:512].hex()}… (2,097,152 bytes)" in shown
    assert digits[512:520].hex() not in shown
    extracted = run(tmp_path, "extract", "--format", "sql", "--schema", "schema.sql", "-o", "out", str(log))
    assert extracted.code == 0
    assert f"VALUES (1, x'{digits.hex()}');" in (tmp_path / "out").read_text()
