"""A new file that is hashed as it is written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_WRITTEN_AT_ONCE = 256 * 1024


class HashedFile:
    """A file for one writer, as ``pyarrow`` takes files of Python.

    Raises:
        OSError: it cannot be made; so do the methods where it cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb", buffering=_WRITTEN_AT_ONCE)  # noqa: SIM115, PTH123
        self._digest = hashlib.sha256()
        self._size = 0

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed

    @property
    def sha256(self) -> str:
        """The digest of what was written so far, in hex."""
        return self._digest.hexdigest()

    def write(self, data: Buffer) -> int:
        """Write bytes."""
        with memoryview(data) as view:
            self._digest.update(view)
            self._file.write(view)
            self._size += view.nbytes
            return view.nbytes

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: what is written is complete when it is closed."""

    def close(self) -> None:
        """Write what is held."""
        self._file.close()
