"""Run the web application: where it listens, under which names, until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from contextbias.annotate.answering import Answering
from contextbias.annotate.pictures import FindPicture
from contextbias.errors import InputError, MissingPart, pip_install


def serve(
    answering: Answering,
    find: FindPicture,
    *,
    host: str,
    port: int,
    allow_remote: bool,
    public_url: str | None,
    started: Callable[[str, str], None],
) -> None:
    """Serve until interrupted.

    Args:
        answering: The study.
        find: Image id -> file.
        host: Address to listen on.
        port: 0 for a free one.
        allow_remote: Whether `host` may be one that other machines reach.
        public_url: Address that annotators use, where it is another one.
        started: Called with that address and the administrator's link before the first request.

    Raises:
        InputError: The address is not a loopback one, or cannot be listened on.
        MissingPart: The extra ``annotate`` is not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingPart(
            "the web page needs starlette and uvicorn",
            pip_install("contextbias[annotate]"),
        ) from None
    from contextbias.annotate.gate import LOOPBACK, is_loopback
    from contextbias.annotate.web import Site

    if not is_loopback(host) and not allow_remote:
        raise InputError(
            f"{host} can be reached from other machines",
            "listen on 127.0.0.1, or add --allow-remote if that is what you want",
        )
    public = _checked(public_url)
    names = [*LOOPBACK, host] if is_loopback(host) else []
    if public:
        names = [*(names or LOOPBACK), str(urlsplit(public).hostname)]
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = public or f"http://{shown}:{listening.getsockname()[1]}"
    site = Site(answering, find, hosts=tuple(names), public_url=public)
    config = uvicorn.Config(
        site.app,
        log_level="warning",
        access_log=False,  # addresses would stand in it, and links with their secrets
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    started(url, f"{url}/admin/{site.admin_token}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def _checked(public_url: str | None) -> str:
    if public_url is None:
        return ""
    parts = urlsplit(public_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise InputError(
            f"--public-url {public_url}", "write scheme and host, as in https://study.example.org"
        )
    return public_url.rstrip("/")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {host}, port {port}: {reason.lower()}", "choose another --port"
        ) from None
