"""How a service is reached: address, key by the name of its variable, time-out, headers.

The client is openai's, since its request and error types are what compatible servers imitate. Its
own retries are off: waiting is the pacing's business (pacing.py), where all requests share it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from contextbias.errors import MissingPart, pip_install
from contextbias.forecast import Requirement
from contextbias.options import Options

OPENAI = "https://api.openai.com/v1"
"""Where requests go unless an option says otherwise."""
OPENAI_KEY = "OPENAI_API_KEY"
"""Variable of the key, unless an option names another."""
_NO_KEY = "none"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 60
# Keys without a dash are longer.
_SECRET = {"authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SHORTEST_SECRET = 8
# A local server's "EMPTY" or "ollama" is no secret, and may well be a word of an answer.


class ConnectionOptions(Options):
    """Options of every backend that talks to a service."""

    # repr=False: a message about a wrong value must not show it, since it may be a key.
    base_url: str = Field(default=OPENAI, repr=False)
    """Address of the service, up to and with ``/v1``. Any OpenAI-compatible server will do."""
    api_key_env: str | None = Field(default=OPENAI_KEY, repr=False)
    """Name of the environment variable that holds the key. The key itself never stands in a
    study. A server on this machine needs none; for another one without a key, write ``""``."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds until a request without a whole answer counts as failed, and is sent again."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Further HTTP headers, such as ``OpenAI-Organization``. The key is none of them."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            _ = parts.port  # raises where it is no number
        except ValueError:
            raise ValueError("not an address such as http://localhost:8000/v1") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not an address such as http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("an address must not hold a key; name its variable in api_key_env")
        return value.rstrip("/?#")

    @field_validator("api_key_env")
    @classmethod
    def _is_name(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not _VARIABLE.fullmatch(value) or len(value) > _LONGEST_NAME:
            raise ValueError(
                "not the name of a variable, such as OPENAI_API_KEY; a key stands in the "
                "environment and never in a study"
            )
        return value

    @field_validator("headers")
    @classmethod
    def _without_key(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if name.lower() in _SECRET or text.lower().startswith("bearer "):
                raise ValueError(
                    f"{name} holds a key; name its variable in api_key_env, and it is sent as "
                    "Authorization"
                )
            if not _HEADER.fullmatch(name) or not (text.isascii() and text.isprintable()):
                raise ValueError(f"{name!r} is no header: names and values are plain ASCII")
        return value


@dataclass(frozen=True, slots=True)
class Connection:
    """A service that can be reached; holds the name of the key, not the key."""

    base_url: str = OPENAI
    """Address, without a slash at the end."""
    api_key_env: str | None = OPENAI_KEY
    """Name of the key's variable."""
    timeout: float = 300.0
    """Seconds."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers."""

    @classmethod
    def of(cls, options: ConnectionOptions) -> Connection:
        """The connection that options describe."""
        return cls(options.base_url, options.api_key_env, options.timeout, options.headers)

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine, and so needs no key."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            address = ip_address(host)
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")
        return address.is_loopback or address.is_unspecified

    def key(self) -> str:
        """The key from the environment.

        Raises:
            MissingPart: The variable is not set, and the service is not on this machine; or it
                holds what no header can carry.
        """
        value = self._set()
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise MissingPart(
                f"the variable {self.api_key_env} holds what is no key: a blank or a letter "
                f"beyond ASCII among its {len(value)} characters",
                f"export {self.api_key_env}=… anew, copied whole",
            )
        if value:
            return value
        if self.api_key_env is None or self.is_local:
            return _NO_KEY
        raise MissingPart(
            f"{self.base_url} needs a key, and the variable {self.api_key_env} is not set",
            f"export {self.api_key_env}=…, or name another variable in api_key_env",
        )

    def has_key(self) -> bool:
        """Whether the key's variable is set."""
        return bool(self._set())

    def key_advice(self) -> str:
        """What to do where the service refuses the key, or wants one."""
        if self.api_key_env is None:
            return "name the key's variable in api_key_env"
        if self.has_key():
            return f"check the key in {self.api_key_env}, which api_key_env names, and its rights"
        return (
            f"{self.api_key_env} is not set: export {self.api_key_env}=…, or name another variable "
            "in api_key_env"
        )

    def requirements(self) -> list[Requirement]:
        """What has to be there for any request, but for the service itself."""
        from importlib.util import find_spec

        there = find_spec("openai") is not None
        fix = "" if there else pip_install("contextbias[openai]")
        found = [("openai", there, "installed" if there else "missing", fix)]
        if self.api_key_env is not None and not self.is_local:
            is_set = self.has_key()
            fix = "" if is_set else f"export {self.api_key_env}=…"
            found.append((f"key {self.api_key_env}", is_set, "set" if is_set else "not set", fix))
        return found

    def redact(self, text: str) -> str:
        """A text without the key: some services repeat it in what they say."""
        value = self._set()
        return text.replace(value, "…") if len(value) >= _SHORTEST_SECRET else text

    def redact_bytes(self, data: bytes) -> bytes:
        """The same for what is kept as it came."""
        value = self._set().encode()
        return data.replace(value, "…".encode()) if len(value) >= _SHORTEST_SECRET else data

    def _set(self) -> str:
        return os.environ.get(self.api_key_env or "", "").strip()

    def open(self, *, connections: int = 1000) -> Any:
        """An ``openai.AsyncOpenAI`` without retries of its own; closed by the caller.

        Raises:
            MissingPart: openai is not installed, or there is no key.
        """
        openai = _openai()
        # The client's own class of limits: which HTTP library is below it depends on its version.
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
            max_connections=connections, max_keepalive_connections=connections
        )
        # A redirect would take the pictures to whatever host it names.
        http = self._http(openai.DefaultAsyncHttpxClient, limits=limits, follow_redirects=False)
        return openai.AsyncOpenAI(max_retries=0, http_client=http, **self._arguments())

    def open_plain(self, *, retries: int) -> Any:
        """An ``openai.OpenAI`` for a few requests in sequence; closed by the caller.

        Raises:
            MissingPart: As above.
        """
        openai = _openai()
        http = self._http(openai.DefaultHttpxClient)
        return openai.OpenAI(max_retries=retries, http_client=http, **self._arguments())

    def _http(self, client: Any, **options: Any) -> Any:
        try:
            return client(trust_env=not self.is_local, **options)
        except (ValueError, ImportError) as error:
            raise MissingPart(
                f"the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names is of no use: {error}",
                "correct the variable, or add the host to NO_PROXY",
            ) from None

    def _arguments(self) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "api_key": self.key(),
            "timeout": self.timeout,
            "default_headers": dict(self.headers),
        }


def _openai() -> Any:
    try:
        import openai
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"talking to a service needs {error.name}, which is not installed",
            pip_install("contextbias[openai]"),
        ) from None
    return openai
