"""A store that speaks as much of S3 as a load needs, in memory, and answers each request after a delay.

What a load takes with many objects depends on its requests and on how long each takes. This store's own work
is small, so that what is measured is the load.
"""

from __future__ import annotations

import json
import os
import re
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote
from urllib.request import urlopen
from xml.sax.saxutils import escape, unescape

_MODIFIED, _MODIFIED_HEADER = "2026-11-27T12:00:00.000Z", "Fri, 27 Nov 2026 12:00:00 GMT"
_STARTED = "<InitiateMultipartUploadResult><UploadId>{}</UploadId></InitiateMultipartUploadResult>"
_PAGE = "<ListBucketResult><IsTruncated>{}</IsTruncated>{}</ListBucketResult>"


class Objects:
    """Objects, by bucket and key."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents = contents
        self._names = sorted(contents)

    def put(self, name: str, data: bytes) -> None:
        """Put an object."""
        if name not in self.contents:
            insort(self._names, name)
        self.contents[name] = data

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        if self.contents.pop(name, None) is not None:
            del self._names[bisect_left(self._names, name)]

    def join(self, name: str, begin: str) -> None:
        """Make an object of those whose names begin so, in order."""
        parts = [one for one in self._names if one.startswith(begin)]
        self.put(name, b"".join(self.contents[one] for one in parts))
        for one in parts:
            self.remove(one)

    def page(self, bucket: str, prefix: str, delimiter: str, after: str, most: int) -> str:
        """Return an answer to ListObjectsV2."""
        begin = f"{bucket}/{prefix}"
        index = bisect_left(self._names, after or begin)
        entries: list[str] = []
        while index < len(self._names) and self._names[index].startswith(begin):
            name = self._names[index]
            if len(entries) == most:
                entries.append(f"<NextContinuationToken>{quote(name)}</NextContinuationToken>")
                break
            folder, mark, _ = name[len(begin) :].partition(delimiter) if delimiter else ("", "", "")
            if mark:
                shown = escape(f"{prefix}{folder}{mark}")
                entries.append(f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>")
                index = bisect_left(self._names, f"{begin}{folder}{chr(ord(mark) + 1)}")
            else:
                key, size = escape(name.removeprefix(f"{bucket}/")), len(self.contents[name])
                entries.append(
                    f"<Contents><Key>{key}</Key><LastModified>{_MODIFIED}</LastModified>"
                    f"<Size>{size}</Size></Contents>"
                )
                index += 1
        return _PAGE.format(str(len(entries) > most).lower(), "".join(entries))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects: ClassVar[Objects]
    delay: ClassVar[float]
    requests: ClassVar[int] = 0

    def _answer(self, status: int, data: bytes = b"", size: int | None = None, about: str = "") -> None:
        size = len(data) if size is None else size
        head = f"HTTP/1.1 {status} .\r\nContent-Length: {size}\r\nLast-Modified: {_MODIFIED_HEADER}\r\n"
        self.wfile.write(f'{head}ETag: "0"\r\n{about}\r\n'.encode() + data)

    def _request(self) -> tuple[str, dict[str, str]]:
        """Return the object and the parameters of a request, after the delay."""
        time.sleep(self.delay)
        _Handler.requests += 1
        path, _, query = self.path.partition("?")
        parameters = parse_qs(query, keep_blank_values=True)
        return unquote(path).strip("/"), {name: values[0] for name, values in parameters.items()}

    def _body(self) -> bytes:
        """Return what a request sends, which S3's clients cut into chunks, within those of HTTP."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        rest, data = _chunks(self.rfile.readline, self.rfile.read), b""
        while rest:
            head, _, rest = rest.partition(b"\r\n")
            size = int(head.partition(b";")[0], 16)
            data, rest = data + rest[:size], rest[size + 2 :] if size else b""
        return data

    def do_HEAD(self) -> None:
        name, _ = self._request()
        data = self.objects.contents.get(name, None if "/" in name else b"")
        self._answer(404 if data is None else 200, size=len(data or b""))

    def do_GET(self) -> None:
        name, parameters = self._request()
        if not name:
            self._answer(200, json.dumps([_Handler.requests, time.process_time()]).encode())
            return
        if "list-type" in parameters:
            after, most = (
                unquote(parameters.get("continuation-token", "")),
                parameters.get("max-keys", "1000"),
            )
            prefix, delimiter = parameters.get("prefix", ""), parameters.get("delimiter", "")
            self._answer(200, self.objects.page(name, prefix, delimiter, after, int(most)).encode())
            return
        data = self.objects.contents.get(name)
        if data is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1 if last else None]
        last = str(int(first) + len(part) - 1)
        self._answer(206, part, about=f"Content-Range: bytes {first}-{last}/{len(data)}\r\n")

    def do_PUT(self) -> None:
        name, parameters = self._request()
        part = f"#{parameters['uploadId']}#{int(parameters['partNumber']):05}" if parameters else ""
        self.objects.put(name + part, self._body())
        self._answer(200)

    def do_POST(self) -> None:
        """Begin or end an upload in parts, or remove objects."""
        name, parameters = self._request()
        body = self._body().decode()
        if "delete" in parameters:
            for key in re.findall("<Key>(.*?)</Key>", body):
                self.objects.remove(f"{name}/{unescape(key)}")
            self._answer(200, b"<DeleteResult></DeleteResult>")
        elif "uploadId" in parameters:
            self.objects.join(name, f"{name}#{parameters['uploadId']}#")
            self._answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
        else:
            self._answer(200, _STARTED.format(time.time_ns()).encode())

    def do_DELETE(self) -> None:
        name, _ = self._request()
        self.objects.remove(name)
        self._answer(204)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _chunks(line: Callable[[], bytes], read: Callable[[int], bytes]) -> bytes:
    data = b""
    while size := int(line().partition(b";")[0], 16):
        data += read(size)
        line()
    line()
    return data


def _serve(made: Callable[[], dict[str, bytes]], delay: float, told: Connection) -> None:
    _Handler.objects, _Handler.delay = Objects(made()), delay
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    told.send(server.server_port)
    server.serve_forever()


@contextmanager
def object_store(made: Callable[[], dict[str, bytes]], delay: float) -> Iterator[int]:
    """Start a store in a process of its own; gives its port on this machine.

    Args:
        made: returns the objects that are there, by bucket and key.
        delay: after how many seconds each request is answered.
    """
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    receiver, told = Pipe(duplex=False)
    process = Process(target=_serve, args=(made, delay, told), daemon=True)
    process.start()
    try:
        yield receiver.recv()
    finally:
        process.kill()
        process.join()


def store_uri(port: int, path: str) -> str:
    """Return the URI of a folder in a store."""
    return f"s3://{path}?scheme=http&region=us-east-1&endpoint_override=127.0.0.1%3A{port}"


def store_work(port: int) -> tuple[int, float]:
    """Return how many requests a store has answered, and how many processor seconds it has taken."""
    with urlopen(f"http://127.0.0.1:{port}/") as answer:
        requests, seconds = json.load(answer)
    return requests, seconds
