"""One small request before the first picture: does the schema bind the answers?

Some servers take a schema and pay it no heed, answer with status 200, and are right most of the
time. So the question has a natural answer, "green", that the schema forbids: whoever gives it was
not bound. What proved itself is remembered in the study, and asked again only for another server,
model or way of asking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, ContextBiasError, Incomplete
from contextbias.files import write_atomic
from contextbias.ids import canonical_json, content_hash
from contextbias.providers.chat import Params, encode, request_fields, send
from contextbias.providers.line import Line
from contextbias.providers.outcomes import INVALID, TRUNCATED, Reply
from contextbias.providers.profiles import ModelProfile
from contextbias.tables import OK

_WORDS = ("kilo-41", "kilo-42")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"color": {"type": "string", "enum": list(_WORDS)}},
    "required": ["color"],
    "additionalProperties": False,
}
_QUESTION = "Which colour has grass? Answer in one sentence of plain English, without JSON."
_ROOM = 4096  # tokens: models that reason think about the contradiction; what they use is paid


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The test of one server, model and way of asking."""

    server: str
    """Address of the service."""
    profile: ModelProfile
    """The model, and how JSON is asked for."""
    params: Params
    """As for pictures; of the room no more than it needs."""

    @property
    def key(self) -> str:
        """What a passed test is remembered under."""
        return content_hash(
            ["self-test", self.server, self.profile.model, self.profile.structured, _QUESTION]
        )

    @property
    def is_needed(self) -> bool:
        """False where nothing binds the answers, by choice: there is nothing to prove."""
        return self.profile.structured != "none"

    async def __call__(self, line: Line, _: Any) -> Reply:
        """Ask the question; see `providers.exchange`."""
        params = Params(
            max_tokens=min(_ROOM, self.params.max_tokens or _ROOM),
            reasoning_effort=self.params.reasoning_effort,
            temperature=self.params.temperature,
            seed=self.params.seed,
            extra=self.params.extra,
        )
        fields = request_fields(_SCHEMA, self.profile, params, name="self_test")
        # OpenAI takes json_object only where the word JSON is said; the question says it.
        messages = [{"role": "user", "content": _QUESTION}]
        return await send(line, encode(messages, fields))

    def check(self, reply: Reply) -> None:
        """Refuse a server whose answers are not bound.

        Raises:
            ConfigError: The answer breaks the schema.
            Incomplete: There is no answer that could tell: it was cut, refused or failed.
        """
        if reply.status not in (OK, INVALID):
            raise self._undecided(reply)
        fault = self._fault(reply.text or "")
        if fault is not None:
            raise ConfigError(
                f"{self.server} does not hold {self.profile.model!r} to the schema (structured = "
                f"{self.profile.structured!r}): asked for {' or '.join(_WORDS)}, {fault}",
                _ADVICE[self.profile.structured],
            )

    def _fault(self, text: str) -> str | None:
        shown = repr(text[:60])
        try:
            answer = json.loads(text)
        except ValueError:
            return f"it answered {shown}, which is no JSON"
        if not isinstance(answer, dict):
            return f"it answered {shown}, which is no object"
        if self.profile.structured == "json_object":
            return None  # any object will do: this mode promises no more
        bound = set(answer) == {"color"} and answer["color"] in _WORDS
        return None if bound else f"it answered {shown}"

    def _undecided(self, reply: Reply) -> ContextBiasError:
        fix = "see what the service says, or skip the test with self_test = false"
        if reply.failure is not None and reply.failure.fix:
            fix = reply.failure.fix
        elif reply.status == TRUNCATED:
            fix = "lower reasoning_effort, or skip the test with self_test = false"
        return Incomplete(
            f"the self-test of {self.profile.model!r} at {self.server} brought no answer "
            f"({reply.status}: {reply.reason})",
            fix,
        )


_ADVICE = {
    "json_schema": "update the server or switch its structured outputs on (docs/readers.md has "
    'the settings); or take structured = "json_object", or "none" and no constraint at all',
    "json_object_schema": 'take structured = "json_schema" or "json_object"; see docs/readers.md',
    "json_object": 'take structured = "none", and answers are only checked; see docs/readers.md',
}


@dataclass(frozen=True, slots=True)
class Proofs:
    """The tests that were passed, in a small file of the study.

    It is worth one small request: a file that is lost or cannot be read is written anew.
    """

    path: Path
    """The file."""

    @classmethod
    def of(cls, folder: Path) -> Proofs:
        """Those of the study in `folder`."""
        return cls(folder / "providers" / "self-tests.json")

    def has(self, key: str) -> bool:
        """Whether the test of this key was passed."""
        return key in self._all()

    def add(self, key: str, about: Mapping[str, Any]) -> None:
        """Remember a passed test.

        Args:
            key: Of the test.
            about: What a person may want to know of it.
        """
        write_atomic(self.path, canonical_json({**self._all(), key: dict(about)}).encode())

    def _all(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
