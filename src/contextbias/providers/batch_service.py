"""The provider's side of batches: files up and down, and what became of each batch."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import Incomplete, MissingPart
from contextbias.providers.connection import Connection
from contextbias.providers.outcomes import AGAIN, FATAL, SLOWER, classify, words

NAME = "contextbias"
"""Key of the metadata that holds a batch's name here."""
_OVER = {"completed", "expired", "failed", "cancelled"}
_TOKENS = "token_limit_exceeded"
_LIMIT = re.compile(r"Limit: ([\d,]+) enqueued tokens")
_RETRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A batch as the provider sees it."""

    batch_id: str
    """Its id."""
    name: str
    """Ours, from the metadata; empty for somebody else's."""
    status: str
    """The provider's word."""
    done: int = 0
    """Requests that are answered."""
    total: int = 0
    """Requests."""
    files: tuple[str, ...] = ()
    """Files with answers and errors."""
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
        with path.open("rb") as handle:
            found = self._do(
                lambda: self._client.files.create(file=(path.name, handle), purpose="batch")
            )
        return str(found.id)

    def create(self, file_id: str, endpoint: str, name: str) -> Remote:
        """Make a batch of a file of requests, and only one.

        A batch whose making was not confirmed (a cut connection) may be there, and would be paid
        for: it is looked for by its name before another one is made.
        """
        import openai

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
                there = self.find(name)
                if there is not None:
                    return there
        raise AssertionError("the last attempt returns or raises")

    def look(self, batch_id: str) -> Remote:
        """How far a batch is."""
        return _remote(self._do(lambda: self._client.batches.retrieve(batch_id)))

    def find(self, name: str) -> Remote | None:
        """The batch of that name among the latest hundred; None where there is none."""
        page = self._do(lambda: self._client.batches.list(limit=100))
        for each in page.data:
            found = _remote(each)
            if found.name == name:
                return found
        return None

    def download(self, file_id: str) -> bytes:
        """A file's content."""
        data = bytes(self._do(lambda: self._client.files.content(file_id)).content)
        return self._connection.redact_bytes(data)

    def delete(self, file_id: str) -> None:
        """Delete a file; one that is gone is fine."""
        import openai

        with contextlib.suppress(openai.OpenAIError):
            self._client.files.delete(file_id)

    def _do(self, call: Any) -> Any:
        import openai

        try:
            return call()
        except openai.OpenAIError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> Incomplete | MissingPart:
        failure = classify(error)
        kind = MissingPart if failure.code.startswith(("401", "403")) else Incomplete
        fix = failure.fix if failure.kind == FATAL else "run again later; nothing is lost"
        redact = self._connection.redact
        said = f"{redact(failure.code)}: {words(error, redact)}".rstrip(".")
        return kind(f"{self._connection.base_url} answers {said}", fix)


def _remote(batch: Any) -> Remote:
    counts = batch.request_counts
    errors = [] if batch.errors is None else (batch.errors.data or [])
    metadata: Mapping[str, Any] = batch.metadata or {}
    return Remote(
        batch_id=batch.id,
        name=str(metadata.get(NAME, "")),
        status=batch.status,
        done=0 if counts is None else counts.completed + counts.failed,
        total=0 if counts is None else counts.total,
        files=tuple(each for each in (batch.output_file_id, batch.error_file_id) if each),
        reason="; ".join(f"{each.code}: {each.message}" for each in errors[:3]),
        too_many_tokens=any(each.code == _TOKENS for each in errors),
    )
