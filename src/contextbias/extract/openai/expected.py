"""What readings by a model will take: calls, tokens, money and time, before any is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from contextbias.extract.vision.instructions import Instructions
from contextbias.extract.vision.pictures import scaled
from contextbias.forecast import Forecast
from contextbias.progress import counted
from contextbias.providers.outcomes import Usage
from contextbias.providers.pacing import Pacing
from contextbias.providers.prices import Price
from contextbias.providers.profiles import ModelProfile
from contextbias.providers.session import USAGE

_LETTERS_A_TOKEN = 4
_ANSWER = 550
# Tokens of an answer about one person and a few things, written without blanks.
_REASONING = {
    None: 0, "none": 0, "minimal": 0, "low": 500, "medium": 1500, "high": 4000, "xhigh": 8000,
    "max": 16000,
}  # fmt: skip
_UNKNOWN_PICTURE = 1500  # tokens, where nothing says how a model counts pictures
_TOKENS_A_SECOND = 60.0
_FIRST_TOKEN = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Expected:
    """The arithmetic of one reader's requests."""

    profile: ModelProfile
    """How pictures are counted."""
    instructions: Instructions
    """The words and the schema."""
    effort: str | None
    """How much the model reasons."""
    price: Price | None
    """None where it is not known."""
    pacing: Pacing
    """How fast requests may be sent."""
    size: int
    """Pixels of the longer side."""
    max_tokens: int
    """Most tokens of an answer."""
    batch: bool = False
    """Whether requests go in batches, and are priced so."""

    def usage(self, pixels: tuple[int, int] | None) -> Usage:
        """Of one request about a picture of so many pixels, nothing cached."""
        counted = self.profile.images
        image = counted.count(*scaled(pixels, self.size)) if counted else _UNKNOWN_PICTURE
        reasoning = _REASONING.get(self.effort, _REASONING["medium"])
        # More than that is cut; it is paid for as far as it came.
        output = min(_ANSWER + reasoning, self.max_tokens)
        reasoning = min(reasoning, output)
        return Usage(input=self._text_tokens() + image, output=output, reasoning=reasoning)

    def _text_tokens(self) -> int:
        schema = json.dumps(self.instructions.schema, separators=(",", ":"))
        return (len(self.instructions.text) + len(schema)) // _LETTERS_A_TOKEN

    def forecast(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:
        """What reading so many pictures takes, one request each."""
        each = self.usage(pixels)
        seconds = _FIRST_TOKEN + each.output / _TOKENS_A_SECOND
        return Forecast(
            seconds=self.worker_seconds(pictures, each, seconds),
            size=pictures * 2500,
            calls=pictures,
            tokens_in=each.input * pictures,
            tokens_out=each.output * pictures,
            money=None if self.price is None else self.price.of(each, batch=self.batch) * pictures,
            basis="guessed from the length of the texts, until 20 readings are there",
            notes=self._notes(pictures, each),
        )

    def measured(
        self, pictures: int, finished: Sequence[tuple[Mapping[str, Any], float]]
    ) -> Forecast:
        """The same from what finished readings used: their ``raw`` and seconds, 1 or more.

        Money is at today's prices, of single requests or of batches as the options have it now.
        Readings of which the service did not say what they used are left out; where it never does,
        tokens and money stay guessed.
        """
        told = [(raw, Usage.from_json(raw.get(USAGE, {})), took) for raw, took in finished]
        finished = [(raw, took) for raw, used, took in told if not used.unknown]
        if not finished:
            guessed = self.forecast(pictures, None)
            seconds = fmean(took for _, _, took in told)
            each = self.usage(None)
            return replace(guessed, seconds=self.worker_seconds(pictures, each, seconds))
        count = len(finished)
        total = sum((used for _, used, _ in told if not used.unknown), Usage())
        calls = sum(max(1, len(raw.get("turns", ()))) for raw, _ in finished)
        seconds = sum(took for _, took in finished) / count
        each = Usage(
            input=round(total.input / count),
            cached=round(total.cached / count),
            output=round(total.output / count),
        )
        share = pictures / count
        return Forecast(
            seconds=self.worker_seconds(pictures, each, seconds),
            calls=round(calls * share),
            tokens_in=round(total.input * share),
            tokens_out=round(total.output * share),
            money=None if self.price is None else self.price.of(total, batch=self.batch) * share,
            basis=f"from {counted(count, 'finished reading')}",
            notes=self._notes(pictures, each),
        )

    def worker_seconds(self, pictures: int, each: Usage, seconds: float) -> float:
        """Seconds of one connection, limits a minute counted in.

        Args:
            pictures: How many.
            each: Usage of one.
            seconds: What one takes without limits.
        """
        limits = [
            used / limit
            for used, limit in (
                (1.0, self.pacing.requests_per_minute),
                (float(each.input + each.output), self.pacing.tokens_per_minute),
            )
            if limit is not None
        ]
        paced = 60.0 * max(limits, default=0.0) * self.pacing.concurrency
        return pictures * max(seconds, paced)

    def _notes(self, pictures: int, each: Usage) -> tuple[str, ...]:
        notes = []
        if self.price is None:
            notes.append(
                f"the price of {self.profile.model!r} is not known: give price_input and "
                "price_output, per million tokens"
            )
        else:
            notes.append(self.price.basis())
            if self.batch:
                notes.append("in batches, which take up to 24 hours each")
            elif self.profile.batch and self.price.batch != 1:
                batch = self.price.of(each, batch=True) * pictures
                notes.append(f"with --batch {batch:,.2f} USD, and up to 24 hours a batch")
        if self.profile.images is None:
            notes.append("how the model counts pictures is not known; 1,500 tokens each are taken")
        if (ending := self.profile.ending()) is not None:
            notes.append(f"{self.profile.model} {ending}")
        return tuple(notes)
