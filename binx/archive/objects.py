"""An archive's objects: write them, plain or encrypted with age, read them back, and verify their hashes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binx.archive.manifest import StoredObject
from binx.errors import BinxError, DamagedError, OutputError
from binx.source import Source
from binx.source.age import AgeFile, CheckedWriter, Identities, pyrage
from binx.source.log_names import ENCRYPTION_SUFFIX
from binx.storage.hashing import DigestSink, object_digest
from binx.storage.output import Sink
from binx.storage.store import Store

if TYPE_CHECKING:
    from typing_extensions import Buffer


_IN_MEMORY = 16 * 1024 * 1024
"""Bytes to be encrypted that are buffered in memory instead of a temporary file."""


class AgeWriter:
    """A sink that buffers in an unnamed temporary file, and encrypts it in :meth:`finish`.

    The file is also encrypted to a temporary key that exists only in this process, so that the writer can
    verify its content without a recipient's secret key.
    """

    def __init__(self, output: Sink, recipients: Sequence[str]) -> None:
        x25519 = pyrage().x25519
        identity = x25519.Identity.generate()
        self.key = Identities((str(identity),))
        self._output = output
        self._recipients = [*map(x25519.Recipient.from_str, recipients), identity.to_public()]
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="binx-")  # noqa: SIM115 - closed by finish

    def write(self, data: Buffer, /) -> int:
        """Add bytes."""
        try:
            return self._file.write(data)
        except OSError as error:
            raise OutputError(
                f"cannot be written to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to a folder with"
                " more space"
            ) from error

    def finish(self) -> None:
        """Encrypt what was written."""
        output = CheckedWriter(self._output.write)
        problem: Exception | None = None
        with self._file as file:
            file.seek(0)
            try:
                pyrage().encrypt_io(file, output, self._recipients)
            except (pyrage().EncryptError, OSError) as error:
                problem = error
        if output.problem is not None:
            raise output.problem
        if problem is not None:
            raise OutputError(f"cannot be encrypted: {problem}")


class ObjectWriter:
    """An object that this process is writing, or has written.

    Attributes:
        sink: receives its bytes.
    """

    def __init__(self, name: str, kind: str, sink: Sink, recipients: tuple[str, ...]) -> None:
        self._name = name
        self._kind = kind
        self._digest = DigestSink(sink)
        self._age = AgeWriter(self._digest, recipients) if recipients else None
        self.sink: Sink = self._age or self._digest

    def finish(self) -> None:
        """Write the rest of an encrypted object."""
        if self._age is not None:
            self._age.finish()

    @property
    def stored(self) -> StoredObject:
        """Its entry in the manifest, once it is complete."""
        return StoredObject(self._name, self._kind, self._digest.bytes, self._digest.sha256)

    def decrypted(self, source: Source) -> Source:
        """Return the original content of a stored object; this process has a key to what it encrypted."""
        if self._age is None:
            return source
        try:
            return AgeFile(source, self._age.key)
        except BaseException:
            source.close()
            raise


@dataclass(frozen=True, slots=True)
class Storage:
    """An archive open for writing."""

    store: Store
    recipients: tuple[str, ...] = ()

    @contextmanager
    def writing(self, name: str, kind: str) -> Iterator[ObjectWriter]:
        """Write an object; it appears completely when the block is left without an error."""
        stored_name = f"{name}{ENCRYPTION_SUFFIX}" if self.recipients else name
        with self.store.writing(stored_name) as sink:
            writer = ObjectWriter(stored_name, kind, sink, self.recipients)
            yield writer
            writer.finish()

    def open(self, written: ObjectWriter) -> Source:
        """Open a stored object's original content."""
        return written.decrypted(self.store.open(written.stored.path))

    def remove_unencrypted(self, names: Iterable[str]) -> None:
        """Remove unencrypted objects left by a killed run, if objects are encrypted now."""
        for name in names if self.recipients else ():
            self.store.remove(name)


def check_object(store: Store, stored: StoredObject) -> None:
    """Compare a stored object with its entry in the manifest."""
    try:
        digest = object_digest(store, stored.path)
    except BinxError as error:
        raise error.at(path=store.path(stored.path)) from None
    if digest != (stored.bytes, stored.sha256):
        raise DamagedError(
            "the object does not match the hash in its manifest; take it from another copy of the"
            " archive, or delete it: the next run archives the log again if the source still has it",
            path=store.path(stored.path),
        )
