"""Read an SQL dump as a stream of statements and INSERT rows, without holding whole INSERTs in memory."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.text.tuples import TupleColumns
from binx.log.backup_position import reading_backup
from binx.rows.ddl.dump_statements import StatementEnds
from binx.source.magic import is_gzip, is_zstd

_READ_BYTES = 4 * 1024 * 1024
_MOST_BYTES = 1 << 31
"""Maximum size of a row or statement; a value of 1 GB can take 2 GB as text."""
_STATEMENT_BYTES = 64 * 1024
_TAIL_BYTES = 64 * 1024
_BLANK = re.compile(rb"(?:\s+|\xef\xbb\xbf|--[^\n]*\n|#[^\n]*\n|/\*(?!M?!).*?\*/)+", re.DOTALL)
_MAY_BE_BLANK = re.compile(rb"\Z|-\Z|--|#|/\Z|/\*(?!M?!)")
_NAME = rb"(?:`((?:[^`]|``)+)`|([^\s(`;,.\"']+))"
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*INTO\s+(?:"
    + _NAME
    + rb"\s*\.\s*)?"
    + _NAME
    + rb"\s*(?:\(((?:[^)`]|`(?:[^`]|``)*`)*)\)\s*)?VALUES?(?=[\s(])",
    re.IGNORECASE,
)
_INSERT_WORD = re.compile(rb"(?:INSERT|REPLACE)\s", re.IGNORECASE)
_COLUMN = re.compile(rb"`((?:[^`]|``)+)`|([^\s,`]+)")
_NOTE = re.compile(rb"^-- (?:Dumping data for table|WHERE:) .*$", re.MULTILINE)


class Sql(NamedTuple):
    """A statement other than INSERT; ``offset`` is its offset in the dump."""

    text: str
    offset: int


class Note(NamedTuple):
    """A comment about the rows that follow: their table, or the WHERE condition that selected them."""

    text: str


class Insert(NamedTuple):
    """The head of an INSERT; its rows are read next.

    Attributes:
        db: the database it names; None for the default database.
        columns: the column names; None if it has no column list.
    """

    db: str | None
    table: str
    columns: tuple[str, ...] | None
    offset: int


class DumpText:
    """A dump, read once from beginning to end.

    Attributes:
        path: the path shown in messages.
        position: bytes of the text processed.
        read: bytes of the file read.
    """

    def __init__(self, path: str, text: BinaryIO, raw: _Hashed) -> None:
        self.path = path
        self._text = text
        self._raw = raw
        self._window = bytearray()
        self._start = 0
        self._offset = 0
        self._is_at_end = False
        self._tail = b""
        self._ends = StatementEnds()
        self._notes: list[Note] = []

    @property
    def position(self) -> int:
        """Bytes of the text processed."""
        return self._offset + self._start

    @property
    def read(self) -> int:
        """Bytes of the file read."""
        return self._raw.size

    @property
    def sha256(self) -> str:
        """The digest of the file's bytes; complete once the file is read to its end."""
        return self._raw.digest.hexdigest()

    @property
    def tail(self) -> str:
        """The last characters read."""
        return self._tail.decode("utf-8", "replace")

    def head(self, size: int) -> bytes:
        """Return the first ``size`` bytes of the text, or fewer if it is shorter."""
        while len(self._window) < size and self._read_more():
            pass
        return bytes(self._window[:size])

    def statements(self) -> Iterator[Sql | Insert | Note]:
        """Yield the statements, without blanks and comments before them, and the comments about rows.

        Raises:
            DamagedError: the text ends inside a statement, or the compressed file is damaged.
            SourceError: the file cannot be read.
            UnsupportedError: a row or statement exceeds 2 GiB.
        """
        while self._skip_blanks():
            yield from self._notes
            self._notes.clear()
            insert = self._insert()
            if insert is not None:
                yield insert
                continue
            statement = self._statement()
            if statement is not None and statement.text.strip():
                yield statement
        yield from self._notes

    def rows(self, columns: TupleColumns, most_rows: int, most_size: int) -> bool:
        """Read rows of an INSERT up to a number or size; return whether the statement ended."""
        while True:
            self._cut(columns.cut, most_rows, most_size)
            if columns.ended or columns.rows >= most_rows or columns.size >= most_size:
                return columns.ended
            if not self._read_more():
                raise self._cut_off("the rows of an INSERT")

    def skip_rows(self) -> None:
        """Skip the rows of an INSERT, without knowing the table's columns."""
        self._statement()

    def lines(self, columns: TupleColumns, most_rows: int, most_size: int) -> bool:
        """Read lines of a file of rows up to a number or size; return whether the file ended."""
        while True:
            self._cut(columns.cut_lines, most_rows, most_size)
            if columns.rows >= most_rows or columns.size >= most_size:
                return False
            if not self._read_more():
                if self._start < len(self._window):
                    raise self._cut_off("a line")
                return True

    def _cut(self, cut: Any, most_rows: int, most_size: int) -> None:
        try:
            self._start = cut(self._window, self._start, len(self._window), most_rows, most_size)
        except (DamagedError, UnsupportedError) as error:
            raise type(error)(
                error.message, path=self.path, offset=self._offset + (error.offset or 0)
            ) from error

    def _skip_blanks(self) -> bool:
        """Advance to the next statement; return False if there is none."""
        while True:
            blank = _BLANK.match(self._window, self._start)
            if blank is not None:
                self._notes += (
                    Note(text.decode("utf-8", "surrogateescape")) for text in _NOTE.findall(blank[0])
                )
                self._start = blank.end()
            rest = self._window[self._start : self._start + 4]
            # A comment may begin at the end of the window.
            if _MAY_BE_BLANK.match(rest) is None:
                return True
            if not self._read_more():
                self._start = len(self._window) if rest.startswith((b"--", b"#")) else self._start
                return self._start < len(self._window)

    def _insert(self) -> Insert | None:
        # The window may end inside the first word.
        while _INSERT_WORD.match(self._window, self._start) or (
            len(self._window) - self._start < len("REPLACE ") and self._read_more()
        ):
            match = _INSERT.match(self._window, self._start)
            if match is not None:
                offset, self._start = self.position, match.end()
                db = None if match[1] is None and match[2] is None else _name(match[1], match[2])
                columns = None if match[5] is None else tuple(starmap(_name, _COLUMN.findall(match[5])))
                return Insert(db, _name(match[3], match[4]), columns, offset)
            if len(self._window) - self._start > _STATEMENT_BYTES or not self._read_more():
                return None
        return None

    def _statement(self) -> Sql | None:
        size = _STATEMENT_BYTES
        while True:
            # In latin-1, each character is one byte.
            head = self._window[self._start : self._start + size].decode("latin-1")
            ends = self._ends.find(head, 0)
            is_last = self._is_at_end and self._start + len(head) == len(self._window)
            if ends is not None and (ends[1] < len(head) or head.endswith((";", "\n")) or is_last):
                break
            if is_last:
                ends = len(head), len(head)
                break
            size = max(size * 2, len(head) * 2)
            while len(self._window) - self._start < size and self._read_more():
                pass
        offset, (end, after) = self.position, ends
        text = self._window[self._start : self._start + end].decode("utf-8", "surrogateescape")
        self._start += after
        return Sql(text, offset)

    def _read_more(self) -> bool:
        """Read more of the text; return False at its end."""
        if self._is_at_end:
            return False
        rest = len(self._window) - self._start
        if rest > _MOST_BYTES:
            raise UnsupportedError(
                "expected a row or statement of less than 2 GiB, found a longer one",
                path=self.path,
                offset=self.position,
            )
        with reading_backup(self.path):
            data = self._text.read(max(_READ_BYTES, rest))
        self._offset += self._start
        del self._window[: self._start]
        self._start = 0
        self._window += data
        self._is_at_end = not data
        self._tail = data[-_TAIL_BYTES:] if len(data) >= _TAIL_BYTES else (self._tail + data)[-_TAIL_BYTES:]
        return bool(data)

    def _cut_off(self, what: str) -> DamagedError:
        return DamagedError(
            f"expected the end of {what}, found that of the file: the dump is cut off; make it again",
            path=self.path,
            offset=self.position,
        )


def _name(quoted: bytes | None, plain: bytes | None) -> str:
    name = quoted.replace(b"``", b"`") if quoted else plain or b""
    return name.decode("utf-8", "surrogateescape")


class _Hashed:
    """A file that hashes the bytes read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        self.size += len(data)
        return data


@contextmanager
def open_text(path: str) -> Iterator[DumpText]:
    """Open a file of a dump. Compression with gzip or zstd is recognized by the first bytes.

    Raises:
        SourceError: it cannot be read.
    """
    with reading_backup(path), Path(path).open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        raw: Any = _Hashed(file)
        text: Any = raw
        if is_gzip(magic):
            text = gzip.GzipFile(fileobj=raw, mode="rb")
        elif is_zstd(magic):
            text = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        yield DumpText(path, text, raw)


class FolderFiles:
    """The files of a backup, read in sequence.

    Args:
        progress: called with the number of bytes read from all files.
    """

    def __init__(self, folder: str, progress: Callable[[int], None]) -> None:
        self._folder = folder
        self._progress = progress
        self._read = 0
        self._digest = hashlib.sha256()

    def read(self, name: str, use: Callable[[DumpText, Callable[[int], None]], None]) -> None:
        """Read a file with ``use``, which receives the text and a callback for the bytes it has read."""
        with open_text(str(Path(self._folder, name))) as text:
            use(text, lambda read: self._progress(self._read + read))
            self._read += text.read
            self._digest.update(f"{name} {text.sha256}\n".encode())
        self._progress(self._read)

    @property
    def sha256(self) -> str:
        """The digest of the names and digests of the files read."""
        return self._digest.hexdigest()
