"""How a service is reached: address, key by the name of its variable, time-out, headers.

The client is openai's, since its request and error types are what compatible servers imitate. Its
own retries are off: waiting is the pacing's business (pacing.py), where all requests share it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from contextbias.errors import MissingPart
from contextbias.options import Options

OPENAI = "https://api.openai.com/v1"
"""Where requests go unless an option says otherwise."""
_LOCAL = ("localhost", "127.", "[::1]", "0.0.0.0")
_NO_KEY = "none"


class ConnectionOptions(Options):
    """Options of every backend that talks to a service."""

    base_url: str = OPENAI
    """Address of the service, up to and with ``/v1``. Any OpenAI-compatible server will do."""
    api_key_env: str | None = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key. The key itself never stands in a
    study. A server on this machine needs none."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds until a request without an answer counts as failed, and is sent again."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further HTTP headers, such as ``OpenAI-Organization``."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("not an address such as http://localhost:8000/v1")
        if parts.username or parts.password:
            raise ValueError("an address must not hold a key; name its variable in api_key_env")
        return value.rstrip("/")


@dataclass(frozen=True, slots=True)
class Connection:
    """A service that can be reached; holds the name of the key, not the key."""

    base_url: str = OPENAI
    """Address, without a slash at the end."""
    api_key_env: str | None = "OPENAI_API_KEY"
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
        return (urlsplit(self.base_url).netloc or "").startswith(_LOCAL)

    def key(self) -> str:
        """The key from the environment.

        Raises:
            MissingPart: The variable is not set, and the service is not on this machine.
        """
        value = os.environ.get(self.api_key_env or "", "").strip()
        if value:
            return value
        if self.api_key_env is None or self.is_local:
            return _NO_KEY
        raise MissingPart(
            f"{self.base_url} needs a key, and the variable {self.api_key_env} is not set",
            f"export {self.api_key_env}=…, or name another variable in api_key_env",
        )

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
        http = openai.DefaultAsyncHttpxClient(limits=limits, trust_env=not self.is_local)
        return openai.AsyncOpenAI(max_retries=0, http_client=http, **self._arguments())

    def open_plain(self, *, retries: int) -> Any:
        """An ``openai.OpenAI`` for a few requests in sequence; closed by the caller.

        Raises:
            MissingPart: As above.
        """
        openai = _openai()
        http = openai.DefaultHttpxClient(trust_env=not self.is_local)
        return openai.OpenAI(max_retries=retries, http_client=http, **self._arguments())

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
            "pip install 'contextbias[openai]'",
        ) from None
    return openai
