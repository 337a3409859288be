"""The provider's side of batches: files up and down, and what became of each batch."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import Incomplete, MissingPart
from contextbias.providers.connection import Connection
from contextbias.providers.outcomes import AGAIN, CHECK_KEY, FATAL, SLOWER, classify, words

NAME = "contextbias"
"""Key of the metadata that holds a batch's name here."""
_OVER = {"completed", "expired", "failed", "cancelled"}
_TOKENS = "token_limit_exceeded"
_LIMIT = re.compile(r"Limit: ([\d,]+) enqueued tokens")
_RETRIES = 5
_CLOCKS_DIFFER = 86_400.0
# Seconds by which this machine's clock may be ahead of the provider's.
_NO_SUCH_PATH = (404, 405, 501)
_WITHOUT_BATCH = "leave batches out if this service has none; otherwise correct base_url"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A batch as the provider sees it."""

    batch_id: str
    """Its id."""
    name: str
    """Ours, from the metadata; empty for somebody else's."""
    status: str
    """The provider's word."""
    output: str | None = None
    """File with answers."""
    errors: str | None = None
    """File with the requests that failed."""
    reason: str = ""
    """Why it failed."""
    too_many_tokens: bool = False
    """It failed since more tokens were enqueued than the account may."""

    @property
    def token_limit(self) -> int | None:
        """The account's limit of enqueued tokens, where the reason names it."""
        found = _LIMIT.search(self.reason)
        return int(found[1].replace(",", "")) if found else None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in _OVER


class Service:
    """Files and batches of one connection. Requests are few, so they go one after another.

    Raises:
        MissingPart: openai is not installed, or there is no key.
        Incomplete: The provider cannot be reached, or refuses; from every method.
    """

    def __init__(self, connection: Connection, *, back_off: float = 0.5) -> None:
        self._connection, self._back_off = connection, back_off
        self._client = connection.open_plain(retries=_RETRIES)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def upload(self, path: Path) -> str:
        """Send a file of requests; returns its id."""
        import openai

        with path.open("rb") as handle:
            try:
                found = self._client.files.create(file=(path.name, handle), purpose="batch")
            except openai.OpenAIError as error:
                has_none = getattr(error, "status_code", None) in _NO_SUCH_PATH
                raise self._refusal(error, _WITHOUT_BATCH if has_none else None) from None
        return str(found.id)

    def delete_upload(self, path: Path) -> None:
        """Delete the provider's copy of a file whose sending was not confirmed, if there is one."""
        import openai

        with contextlib.suppress(openai.OpenAIError):
            for file in self._client.files.list(purpose="batch"):
                if file.filename == path.name:
                    self._client.files.delete(file.id)
                    return

    def create(self, file_id: str, endpoint: str, name: str) -> Remote:
        """Make a batch of a file of requests, and only one.

        A batch whose making was not confirmed (a cut connection) may be there, and would be paid
        for: it is looked for by its name before another one is made.
        """
        import openai

        began = time.time()
        for attempt in range(_RETRIES):
            try:
                found = self._client.with_options(max_retries=0).batches.create(
                    input_file_id=file_id,
                    endpoint=endpoint,
                    completion_window="24h",
                    metadata={NAME: name},
                )
                return _remote(found)
            except openai.OpenAIError as error:
                failure = classify(error)
                if failure.kind not in (AGAIN, SLOWER) or attempt == _RETRIES - 1:
                    raise self._refusal(error) from None
                time.sleep(failure.after or self._back_off * 2.0**attempt)
                there = self.find(name, began)
                if there is not None:
                    return there
        raise AssertionError("the last attempt returns or raises")

    def look(self, batch_id: str) -> Remote | None:
        """How far a batch is; None where the provider does not know it (any more)."""
        found = self._do(lambda: self._client.batches.retrieve(batch_id), or_none=True)
        return None if found is None else _remote(found)

    def find(self, name: str, since: float) -> Remote | None:
        """The batch of that name; None where there is none.

        Args:
            name: Ours.
            since: When it was made at the earliest, by this machine's clock, in seconds since 1970.
        """

        def search() -> Remote | None:
            for each in self._client.batches.list(limit=100):  # the latest first, page by page
                found = _remote(each)
                if found.name == name:
                    return found
                if each.created_at < since - _CLOCKS_DIFFER:
                    return None
            return None

        there: Remote | None = self._do(search)
        return there

    def download(self, file_id: str) -> bytes | None:
        """A file's content; None where the provider does not have it (any more)."""
        found = self._do(lambda: self._client.files.content(file_id), or_none=True)
        return None if found is None else self._connection.redact_bytes(bytes(found.content))

    def delete(self, file_id: str) -> None:
        """Delete a file; one that is gone is fine."""
        import openai

        with contextlib.suppress(openai.OpenAIError):
            self._client.files.delete(file_id)

    def _do(self, call: Callable[[], Any], *, or_none: bool = False) -> Any:
        """What `call` gives; with `or_none` None for what is not there."""
        import openai

        try:
            return call()
        except openai.OpenAIError as error:
            if or_none and isinstance(error, openai.NotFoundError):
                return None
            raise self._refusal(error) from None

    def _refusal(self, error: Exception, advice: str | None = None) -> Incomplete | MissingPart:
        failure = classify(error)
        kind = MissingPart if failure.code.startswith(("401", "403")) else Incomplete
        fix = failure.fix if failure.kind == FATAL else "run again later; nothing is lost"
        fix = self._connection.key_advice() if fix == CHECK_KEY else fix
        redact = self._connection.redact
        said = f"{redact(failure.code)}: {words(error, redact)}".rstrip(".")
        return kind(f"{self._connection.base_url} answers {said}", advice or fix)


def _remote(batch: Any) -> Remote:
    errors = [] if batch.errors is None else (batch.errors.data or [])
    metadata: Mapping[str, Any] = batch.metadata or {}
    return Remote(
        batch_id=batch.id,
        name=str(metadata.get(NAME, "")),
        status=batch.status,
        output=batch.output_file_id,
        errors=batch.error_file_id,
        reason="; ".join(f"{each.code}: {each.message}" for each in errors[:3]),
        too_many_tokens=any(each.code == _TOKENS for each in errors),
    )
