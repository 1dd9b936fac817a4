"""An object store for tests: S3's protocol on this machine's loopback, in this process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from binx.errors import SourceError
from binx.source.remote import RemoteFile
from binx.storage.remote_store import RemoteStore


@contextmanager
def object_store() -> Iterator[tuple[Any, str]]:
    """A client of the store, and the store's address; the tests skip where moto or boto3 is missing."""
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        yield boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1"), endpoint
    server.stop()


class Bucket:
    """An empty bucket."""

    def __init__(self, service: tuple[Any, str], test: str) -> None:
        self.client, endpoint = service
        self.name = hashlib.sha256(test.encode()).hexdigest()[:20]
        self._override = quote(endpoint.removeprefix("http://"), safe="")
        self.uri = self.place("logs")
        self.client.create_bucket(Bucket=self.name)

    def place(self, prefix: str) -> str:
        """The URI of a place in it."""
        return f"s3://{self.name}/{prefix}?scheme=http&region=us-east-1&endpoint_override={self._override}"

    def listed(self, prefix: str = "") -> list[str]:
        """The names of all objects; what stands for folders is none."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
        return sorted(key for key in keys if not key.endswith("/"))

    def contents(self, prefix: str = "logs") -> dict[str, str]:
        """What stands below a place, by hash."""
        return {
            key.removeprefix(f"{prefix}/"): hashlib.sha256(self.read(key)).hexdigest()
            for key in self.listed(f"{prefix}/")
        }

    def read(self, key: str) -> bytes:
        """An object's bytes."""
        data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data


def timed_out() -> None:
    """What Arrow says of a request that had no answer."""
    raise OSError(110, "the connection timed out")


def at_request(patch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Have something happen in the place of the n-th request to stores, from now on."""
    left = number

    def counted(function: Any) -> Any:
        def call(*arguments: Any, **settings: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                act()
            return function(*arguments, **settings)

        return call

    class Counting:
        """A file system that counts."""

        def __init__(self, system: Any) -> None:
            self._system = system
            self.type_name = system.type_name

        def __getattr__(self, name: str) -> Any:
            return counted(getattr(self._system, name))

        def open_output_stream(self, path: str, **settings: Any) -> Any:
            return CountingStream(counted(self._system.open_output_stream)(path, **settings))

    class CountingStream:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def write(self, data: Any) -> Any:
            return counted(self._stream.write)(data)

        def close(self) -> None:
            if not self._stream.closed:
                try:
                    counted(lambda: None)()
                finally:
                    self._stream.close()

    begin, load = RemoteStore.__init__, RemoteFile._load

    def wrapped(self: RemoteStore, uri: str) -> None:
        begin(self, uri)
        patch.setattr(self, "_system", Counting(self._system), raising=True)

    def counted_load(self: RemoteFile, start: int, stop: int) -> bytes:
        try:
            return counted(load)(self, start, stop)  # type: ignore[no-any-return]
        except OSError as error:
            raise SourceError(str(error.strerror), path=self.path) from error

    patch.setattr(RemoteStore, "__init__", wrapped)
    patch.setattr(RemoteFile, "_load", counted_load)
