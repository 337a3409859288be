"""HTTP/1.1 over asyncio, just enough for a fake provider, and able to misbehave.

Not Starlette: the server shares two cores with the client whose speed is measured, and has to cut
connections in the middle of a reply.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(slots=True)
class Request:
    """What came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Response:
    """What goes out."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    """Close the connection after so many bytes of the whole response; None: send it all."""
    drip: float | None = None
    """Seconds between blanks that come in the place of the body, without end."""

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> Response:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(
            status, json.dumps(value).encode(), {"content-type": "application/json", **given}
        )


def error(
    status: int, message: str, *, code: str | None = None, param: str | None = None, **headers: str
) -> Response:
    """An error body as the real ones send it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    inner = {"message": message, "type": kind, "param": param, "code": code}
    return Response.of({"error": inner}, status, **headers)


Handler = Callable[[Request], Awaitable[Response]]


class HttpServer:
    """Serves a handler; used within one event loop.

    Args:
        handler: A request in, a response out.
        largest: Bytes of a body; more is answered with 413 and not read.
    """

    def __init__(self, handler: Handler, *, largest: int) -> None:
        self._handler, self._largest = handler, largest
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0) -> int:
        """Listen on loopback; returns the port."""
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", port, limit=1 << 20, backlog=1024
        )
        address = self._server.sockets[0].getsockname()
        return int(address[1])

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._open.discard(writer)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        size = int(headers.get("content-length", 0))
        if size > self._largest:
            writer.write(_encode(error(413, f"Maximum content size limit ({self._largest})")))
            await writer.drain()
            return False
        body = await self._body(reader, headers, size)
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        response = await self._handler(Request(method, parts.path, query, headers, body))
        data = _encode(response)
        if response.drip is not None:
            writer.write(data[: -len(response.body)])
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(response.drip)
            return False
        if response.cut_at is not None:
            if response.cut_at:
                writer.write(data[: response.cut_at])
                await writer.drain()
            writer.transport.abort()
            return False
        writer.write(data)
        await writer.drain()
        return True

    async def _body(
        self, reader: asyncio.StreamReader, headers: dict[str, str], size: int
    ) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(size)
        parts = []
        while length := int((await reader.readline()).strip() or b"0", 16):
            parts.append(await reader.readexactly(length))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return b"".join(parts)


def _encode(response: Response) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    headers = {**response.headers, "content-length": str(len(response.body))}
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + response.body
