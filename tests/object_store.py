"""An object store for tests: S3's protocol on this machine's loopback, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


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
