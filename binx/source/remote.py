"""Logs in file systems of ``pyarrow.fs``: ``s3://``, ``gs://``, ``hdfs://``, ``file://`` and others.

A log is read in ranges of some megabytes, since each request costs a round trip.
"""

from __future__ import annotations

import re
import signal
import sys
from functools import cache
from typing import TYPE_CHECKING, Self

from binx.errors import NotABinlogError, OutputError, SourceError, UsageError
from binx.source.byte_source import ChunkedSource

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileSystem

RANGE_BYTES = 4 * 1024 * 1024
"""Bytes per request."""

RETRY_SECONDS = 60
"""Seconds for which requests to Google's store are retried, unless the URI sets it."""

_RETRY_OPTION = "retry_limit_seconds"
_URI_CHARACTERS = "%:/?#[]@!$&'()*+,;="
"""Characters that a URI may contain besides letters, digits and ``-._~`` (RFC 3986)."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SCHEMES = ("abfs", "abfss")
_NEEDS_NO_TOKEN = frozenset({"account_key", "sig"})
_REFUSAL_MARK = "what():"
_PROBE_CODE = """
import sys
from pyarrow import fs
try:
    system, path = fs.FileSystem.from_uri(sys.argv[1])
    system.get_file_info(path)
except Exception:
    pass
"""
"""Errors that Arrow can raise are ignored here, since they occur again in the caller."""


def is_uri(path: str) -> bool:
    """Whether a path is a URI of another file system."""
    return _URI.match(path) is not None


class RemoteFile(ChunkedSource):
    """A file opened with ``pyarrow.fs``."""

    chunk_bytes = RANGE_BYTES

    def __init__(self, file: NativeFile, path: str, name: str) -> None:
        super().__init__(path, name, file.size())
        self._file = file
        if self.size == 0:
            raise NotABinlogError("expected a binary log, found an empty file", path=path)

    @classmethod
    def open(cls, uri: str) -> Self:
        """Open a file by its URI."""
        return cls.inside(*reach(uri, SourceError), uri)

    @classmethod
    def find(cls, uri: str) -> Self | None:
        """Open a file; return None if it does not exist."""
        try:
            return cls.open(uri)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    @classmethod
    def inside(cls, system: FileSystem, path: str, uri: str) -> Self:
        """Open a file of a connected file system."""
        try:
            file = system.open_input_file(path)
        except FileNotFoundError as error:
            raise SourceError("cannot be opened: no such file", path=uri) from error
        except OSError as error:
            raise SourceError(f"cannot be opened: {shortened(error)}", path=uri) from error
        try:
            return cls(file, uri, path.rpartition("/")[2])
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._file.close()

    def _load(self, start: int, stop: int) -> bytes:
        try:
            data: bytes = self._file.read_at(stop - start, start)
        except OSError as error:
            raise SourceError(f"cannot be read: {shortened(error)}", path=self.path, offset=start) from error
        if len(data) != stop - start:
            raise SourceError(
                f"the file shrank while it was read: expected {self.size} bytes, found {start + len(data)}",
                path=self.path,
                offset=start + len(data),
            )
        return data


def is_folder(uri: str) -> bool:
    """Whether a URI names a folder rather than a file: it ends in ``/``."""
    return is_uri(uri) and uri.partition("?")[0].endswith("/")


def as_folder(uri: str) -> str | None:
    """Return the URI with a trailing ``/`` if it names a folder without it; None if it names no folder."""
    from pyarrow import fs

    system, path = reach(uri, SourceError)
    try:
        info = system.get_file_info(path)
    except OSError as error:
        raise SourceError(f"cannot be read: {shortened(error)}", path=uri) from error
    if info.type != fs.FileType.Directory:
        return None
    base, mark, query = uri.partition("?")
    return f"{base}/{mark}{query}"


def beside(uri: str, name: str) -> str:
    """Return the URI of a file in the same folder.

    Args:
        uri: a file's, or a folder's that ends in ``/``.
        name: the other file's name, percent-encoded as in URIs.
    """
    base, mark, options = uri.partition("?")
    return f"{base.rpartition('/')[0]}/{name}{mark}{options}"


def list_folder(uri: str) -> list[str]:
    """Return the names of the files directly in a folder, sorted."""
    from pyarrow import fs

    system, path = reach(uri, SourceError)
    try:
        infos = system.get_file_info(fs.FileSelector(path.rstrip("/")))
    except FileNotFoundError as error:
        raise SourceError("cannot be read: no such folder", path=uri) from error
    except OSError as error:
        raise SourceError(f"cannot be read: {shortened(error)}", path=uri) from error
    return sorted(info.base_name for info in infos if info.type == fs.FileType.File)


def reach(uri: str, error_type: type[SourceError | OutputError]) -> tuple[FileSystem, str]:
    """Return a URI's file system, and the path in it.

    Args:
        uri: as for ``pyarrow.fs``: ``s3://bucket/prefix``; characters that URIs cannot contain, such as
            spaces, may be unescaped.
    """
    import pyarrow as pa
    from pyarrow import fs

    refuse_secret(uri)
    check_credentials(uri, error_type)
    try:
        system, path = fs.FileSystem.from_uri(_limited(_encoded(uri)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(
            f"expected a URI of s3, gs, hdfs, abfs or file: {shortened(error)}", path=uri
        ) from None
    except OSError as error:
        raise error_type(f"cannot be reached: {shortened(error)}", path=uri) from error
    return system, path


def _encoded(uri: str) -> str:
    """Percent-encode the characters that a URI cannot contain."""
    from urllib.parse import quote

    return quote(uri, safe=_URI_CHARACTERS)


def _limited(uri: str) -> str:
    """Add a time limit for retries to a URI.

    Google's client retries for a quarter of an hour by default, during which signals are not handled.
    """
    base, _, options = uri.partition("?")
    names = [option.partition("=")[0] for option in options.split("&")]
    if base.partition("://")[0].lower() not in ("gs", "gcs") or _RETRY_OPTION in names:
        return uri
    return f"{base}?{options}&{_RETRY_OPTION}={RETRY_SECONDS}".replace("?&", "?")


def shortened(error: Exception) -> str:
    """Return Arrow's message without locations in its source and the details of Google's client."""
    message = str(error).partition(" Detail:")[0].partition(" error_info=")[0]
    return (message.splitlines() or ["no reason given"])[0]


def refuse_secret(uri: str) -> None:
    """Raise UsageError if a URI holds a secret."""
    if ":" in uri.partition("://")[2].partition("/")[0].rpartition("@")[0]:
        raise UsageError(
            "a URI must not contain a secret, because messages and process lists show it; set it in"
            " the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or in a profile"
        )


def check_credentials(uri: str, error_type: type[SourceError | OutputError]) -> None:
    """Raise an error if connecting to an Azure store would end the process; checked once per container.

    Raises:
        SourceError, OutputError: there are no working credentials.
    """
    base, _, options = uri.partition("?")
    scheme, _, rest = base.partition("://")
    if scheme.lower() not in _SCHEMES or not _needs_token(options):
        return
    refusal = _refusal(f"{scheme}://{rest.partition('/')[0]}/{'?' if options else ''}{options}")
    if refusal is not None:
        raise error_type(
            f"no working Azure credentials: {refusal}. Run `az login`, set AZURE_TENANT_ID, AZURE_CLIENT_ID"
            " and AZURE_CLIENT_SECRET, or use the machine's identity; for a public container, append"
            " ?credential_kind=anonymous to the URI",
            path=uri,
        )


def _needs_token(options: str) -> bool:
    from urllib.parse import parse_qs

    parameters = parse_qs(options, keep_blank_values=True)
    return parameters.get("credential_kind") != ["anonymous"] and _NEEDS_NO_TOKEN.isdisjoint(parameters)


@cache
def _refusal(uri: str) -> str | None:
    """Return the message with which Azure's library aborts a process that uses the URI, or None."""
    import subprocess

    command = [sys.executable, "-c", _PROBE_CODE, uri]
    probe = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if probe.returncode != -signal.SIGABRT:
        return None
    lines = probe.stderr.decode("utf-8", "replace").splitlines()
    message = next(
        (line.partition(_REFUSAL_MARK)[2] for line in lines if _REFUSAL_MARK in line), "no reason is given"
    )
    return message.strip().rstrip(".")
