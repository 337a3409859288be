"""One picture's exchange with the model: a request, and where its answer is faulty a second one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextbias.extract.protocol import Picture
from contextbias.extract.vision.answers import Answer, parse_answer
from contextbias.extract.vision.instructions import REQUEST, Instructions
from contextbias.extract.vision.pictures import Encoding, Payload, encode_picture
from contextbias.pictures import UnreadablePicture
from contextbias.providers.chat import encode, send
from contextbias.providers.line import Line
from contextbias.providers.outcomes import INVALID, Reply
from contextbias.tables import OK

CORRUPT = "corrupt"
"""Status of a picture that cannot be decoded: nothing is sent."""

Message = dict[str, Any]
"""Of chat completions."""


@dataclass(slots=True)
class Asked:
    """A picture on its way through an exchange."""

    picture: Picture
    """Which one."""
    payload: Payload | None = None
    """As it was sent, without its bytes; None before."""
    answer: Answer | None = None
    """What became of the last answer's text; None where there is none."""
    not_repaired: str | None = None
    """Why the second turn brought no answer; None where it did, or there was none."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How every picture of a reader is asked about."""

    instructions: Instructions
    """The words."""
    fields: Mapping[str, Any]
    """Of every request, but its messages."""
    size: int
    """Pixels of the longer side; 0 for the picture's own."""
    encoding: Encoding
    """Of the picture."""
    quality: int
    """Of JPEG."""
    detail: str | None
    """How closely the service is asked to look."""
    repair: bool
    """Whether a faulty answer is asked for again."""
    tokens: float
    """How many a request is expected to use, for limits of tokens a minute."""

    async def __call__(self, line: Line, asked: Asked) -> Reply:
        """Ask about one picture; see `providers.exchange`.

        Returns:
            The reply that counts. After a second turn it is that one, with the first in
            ``earlier``; where the second turn brought no answer it stays the first.
        """
        try:
            messages, body = await line.thread(self._prepared, asked)
        except UnreadablePicture as error:
            return Reply(status=CORRUPT, reason=str(error))
        first = await send(line, body, tokens=self.tokens)
        if first.status not in (OK, INVALID) or first.failure is not None:
            return first
        asked.answer = parse_answer(first.text or "")
        if asked.answer.record is not None or not self.repair:
            return first
        return await self._again(line, asked, messages, first)

    async def _again(
        self, line: Line, asked: Asked, messages: list[Message], first: Reply
    ) -> Reply:
        faults = asked.answer.faults if asked.answer else []
        body = await line.thread(encode, [*messages, *self._repair(first, faults)], self.fields)
        second = await send(line, body, tokens=self.tokens)
        if second.failure is not None:
            # Paid for and faulty: it stays what it is, rather than be paid for again.
            asked.not_repaired = second.reason
            return first
        if second.status in (OK, INVALID):
            asked.answer = parse_answer(second.text or "")
        return replace(second, earlier=(first,))

    def _prepared(self, asked: Asked) -> tuple[list[Message], bytes]:
        """The first turn's messages, and the whole request."""
        payload = encode_picture(
            asked.picture.path, size=self.size, encoding=self.encoding, quality=self.quality
        )
        asked.payload = replace(payload, data=b"")
        messages = self._messages(payload.url)
        return messages, encode(messages, self.fields)

    def _messages(self, url: str) -> list[Message]:
        image = {"url": url} | ({"detail": self.detail} if self.detail else {})
        return [
            {"role": "system", "content": self.instructions.text},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": REQUEST},
                    {"type": "image_url", "image_url": image},
                ],
            },
        ]

    def _repair(self, first: Reply, faults: list[str]) -> list[Message]:
        """What is said after a faulty answer; after none at all, the first request once more."""
        if not (first.text or "").strip():
            return []
        return [
            {"role": "assistant", "content": first.text},
            {"role": "user", "content": self.instructions.repair(faults)},
        ]
