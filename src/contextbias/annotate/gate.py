"""What every request passes: host and origin are checked, and answers get their headers.

- The host must be one under which the server is known. A page elsewhere cannot reach a loopback
  server by pointing a name of its own at 127.0.0.1.
- A request that changes something must come from a page of this server (``Origin``): from the
  address that it was sent to, or from the public address that the server was told. A proxy that
  sends a name of its own as the host is no obstacle then.
- The policy of content allows scripts, styles and pictures of this server only, nothing inline, and
  no other page may put this one into a frame.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine for itself."""

_POLICY = (
    "default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"same-origin"),  # with none at all, forms are sent without an origin
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_LARGEST_BODY = 100_000
_PORTS = {"http": 80, "https": 443}


class Gate:
    """ASGI middleware; see the module's docstring.

    Args:
        app: What lies behind.
        hosts: Host names, without port, that are allowed; empty for any.
        public_url: Address of the server as annotators see it; empty where it is no other.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], public_url: str = "") -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._public = _origin_of(public_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in _HEADERS if name not in there]
                if b"cache-control" not in there:
                    more.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            answer = PlainTextResponse(refusal, status_code=403)
            return await answer(scope, receive, send_with_headers)
        return await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        headers = {
            name.decode("latin-1").lower(): v.decode("latin-1") for name, v in scope["headers"]
        }
        host = headers.get("host", "")
        name = _name_of(host)
        if name is None or (self._hosts and name not in self._hosts):
            return "This server is not known under that name."
        if scope["method"] in ("GET", "HEAD"):
            return None
        origin = _origin_of(headers.get("origin", ""))
        if origin is None or origin not in (self._public, _origin_of(f"{origin[0]}://{host}")):
            return "This request does not come from a page of this server."
        length = headers.get("content-length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > _LARGEST_BODY:
            return "This request is too large."
        return None


def is_loopback(host: str) -> bool:
    """Whether a server on this address can be reached from this machine only."""
    return host in LOOPBACK or host.startswith("127.")


def _name_of(host: str) -> str | None:
    """Host without its port: ``[::1]:8000`` is ``::1``; None where it is no host."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return None


def _origin_of(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None where it has none, as ``null`` has."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.lower(), port or _PORTS[parts.scheme]
