"""Writing age files, which :mod:`binx.source.age` and ``age -d`` read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binx.errors import OutputError
from binx.source.age import CheckedWriter, Identities, pyrage
from binx.storage.output import Sink

if TYPE_CHECKING:
    from typing_extensions import Buffer

_IN_MEMORY = 16 * 1024 * 1024


class AgeWriter:
    """Takes bytes into an unnamed temporary file, and encrypts them when :meth:`finish` is called.

    The file is also encrypted to a key of its own, which exists in this process alone, so that whoever has
    written it can prove what it holds without a recipient's secret.
    """

    def __init__(self, output: Sink, recipients: Sequence[str]) -> None:
        x25519 = pyrage().x25519
        own = x25519.Identity.generate()
        self.key = Identities((str(own),))
        self._output = output
        self._recipients = [*map(x25519.Recipient.from_str, recipients), own.to_public()]
        self._held = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="binx-")  # noqa: SIM115 - closed by finish

    def write(self, data: Buffer, /) -> int:
        """Add bytes."""
        try:
            return self._held.write(data)
        except OSError as error:
            raise OutputError(
                f"cannot be written to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to a folder with"
                " more space"
            ) from error

    def finish(self) -> None:
        """Encrypt what was written."""
        output = CheckedWriter(self._output.write)
        told: Exception | None = None
        with self._held as held:
            held.seek(0)
            try:
                pyrage().encrypt_io(held, output, self._recipients)
            except (pyrage().EncryptError, OSError) as error:
                told = error
        if output.problem is not None:
            raise output.problem
        if told is not None:
            raise OutputError(f"cannot be encrypted: {told}")
