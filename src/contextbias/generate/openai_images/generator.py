"""OpenAIImages: pictures by OpenAI's images API, or by a server that speaks like it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from contextbias.errors import ConfigError
from contextbias.forecast import Forecast, Requirement
from contextbias.generate.openai_images.answers import Asked, as_block, download
from contextbias.generate.openai_images.models import image_model
from contextbias.generate.openai_images.options import OpenAIImagesOptions
from contextbias.generate.protocol import Job, Made
from contextbias.progress import counted
from contextbias.providers.budget import Budget, budgeted
from contextbias.providers.connection import Connection
from contextbias.providers.exchange import State, exchange
from contextbias.providers.line import Line
from contextbias.providers.outcomes import (
    BLOCKED,
    ERROR,
    ITEM,
    Failure,
    Reply,
    Usage,
    words,
)
from contextbias.providers.pacing import Pacing
from contextbias.providers.prices import Price, price
from contextbias.providers.session import USAGE, Session
from contextbias.tables import OK

_HELD = 32  # pictures that wait to be kept before nothing more is asked for: about 100 MB
_FETCH = 120.0  # seconds, at most, in which a picture is fetched from its address
_SECONDS = 30.0  # a guess of what one picture takes
_LETTERS_A_TOKEN = 4
_PROMPT_LIMIT = 32_000
_BYTES_A_PIXEL = 1.5


class OpenAIImages:
    """A generator (see protocol.py) behind OpenAI's images API.

    The API has no seed: two pictures of one prompt differ by chance, and their seeds in the store
    only tell them apart.

    Args:
        options: The options of study.toml; see `OpenAIImagesOptions`.

    Raises:
        ConfigError: An option is unknown, has a wrong value, or one that the model does not take;
            or there is a budget and no price.
    """

    batch_size = 1
    parallel = "stream"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = chosen = OpenAIImagesOptions.parse(options, backend="openai_images")
        self._model = image_model(chosen.model)
        chosen.check(self._model)
        self._price = _price(chosen)
        if chosen.budget is not None and self._price is None:
            raise ConfigError(
                f"budget = {chosen.budget:g}, but the price of {chosen.model!r} is not known",
                "give price_image, or price_input and price_output, or take the budget out",
            )
        self._connection = Connection.of(chosen)
        self._pacing = Pacing.of(chosen)
        self._session: Session | None = None
        # Counted by one thread each: pictures that came, and those that were kept.
        self._came = self._kept = 0
        self._has_expected = self._is_uncounted = False

    @property
    def concurrency(self) -> int:
        """Most requests at a time, for a plan."""
        return self._pacing.concurrency

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels; see `OpenAIImagesOptions.settings`."""
        return self._options.settings()

    def begin(self, session: Session) -> None:
        """Be told about the study, before the first picture."""
        self._session = session

    def check(self, jobs: Sequence[Job]) -> None:
        """Look for the key, and at the prompts, before anything is spent on any generator.

        Raises:
            ConfigError: A prompt is longer than OpenAI's API takes.
            MissingPart: There is no key.
        """
        self._connection.key()
        longest = max((job.text for job in jobs), key=len, default="")
        if self._is_openai and len(longest) > _PROMPT_LIMIT:
            raise ConfigError(
                f"a prompt has {len(longest):,} characters ({longest[:40]!r} …), and the service "
                f"takes {_PROMPT_LIMIT:,}",
                "shorten it",
            )

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Have every job's picture made, many at a time.

        Raises:
            ConfigError: The service refuses a parameter that every request has; or it does not
                say what it charges, and there is a budget.
            Incomplete: The budget or a quota is used up; what is under way was yielded.
            MissingPart: openai is not installed, or there is no key that the service takes.
        """
        self._came = self._kept = 0
        budget = self._budget()
        self._refuse_uncounted()
        has_token_price = self._price is not None and self._price.output > 0
        for asked, reply in exchange(
            (Asked(job, has_token_price=has_token_price) for job in jobs),
            self._ask,
            connection=self._connection,
            pacing=self._pacing,
            budget=budget,
            total=len(jobs),
            on_state=self._tell,
        ):
            has_picture = asked.data is not None
            yield self._made(asked, reply)
            asked.data = None
            self._kept += has_picture
        self._refuse_uncounted()

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """Calls and money, by the model's table; nothing is sent."""
        if not jobs:
            return Forecast(seconds=0.0, size=0, calls=0)
        each, basis = self._expected()
        pixels = self._options.pixels()
        size = None if pixels is None else round(pixels[0] * pixels[1] * _BYTES_A_PIXEL)
        forecast = Forecast(
            seconds=_SECONDS * len(jobs),
            size=None if size is None else size * len(jobs),
            pixels=pixels,
            calls=len(jobs),
            tokens_in=sum(len(job.text) // _LETTERS_A_TOKEN for job in jobs),
            money=None if each is None else each * len(jobs),
            basis=f"guessed at {_SECONDS:.0f} s a picture; {basis}",
            notes=tuple(self._notes()),
        )
        return budgeted(forecast, self._budget())

    def requirements(self) -> list[Requirement]:
        """What has to be there: (what, whether it is, what was found, what to do)."""
        found = self._connection.requirements()
        if self._model.shutdown is not None and self._is_openai:
            said = f"shut down on {self._model.shutdown}"
            found.append((self._options.model, False, said, "name another model"))
        return found

    # ---- inside

    @property
    def _is_openai(self) -> bool:
        return "openai.com" in self._connection.base_url

    def _notes(self) -> Iterator[str]:
        yield from (f"{what}: {found}" for what, ok, found, _ in self.requirements() if not ok)
        if not self._options.send_seed:
            yield "no seed is sent: the pictures cannot be made again"
        if self._options.quality is None:
            yield "quality is left to the service, and decides the price"

    def _expected(self) -> tuple[float | None, str]:
        """What one picture is expected to cost, and where that comes from."""
        options, used = self._options, self._used()
        told = used.images - used.unknown
        if self._price is not None and told > 0:
            # What earlier ones cost says more than a table.
            return self._price.of(used) / told, f"price of {counted(told, 'finished picture')}"
        if options.price_image is not None:
            return options.price_image, "price_image"
        by_size = self._model.per_image.get(options.quality or "", {})
        each = by_size.get(options.size or "")
        if each is None:
            return None, "its price is known once a picture was made"
        return each, f"price of a picture: {self._model.source}"

    def _budget(self) -> Budget | None:
        if self._price is None:
            return None
        used = self._used()
        expected, _ = self._expected()
        self._has_expected = bool(expected)
        self._count(used)
        return Budget(
            self._options.budget,
            self._price.cost,
            spent=self._price.of(used),
            expected=expected or 0.0,
            unknown=used.unknown,
        )

    def _used(self) -> Usage:
        """What earlier runs of the study used."""
        return Usage() if self._session is None else self._session.usage

    def _count(self, usage: Usage) -> None:
        """Note where a budget can hold nothing: no charge is told, and none is expected."""
        if self._options.budget is not None and usage.unknown and not self._has_expected:
            self._is_uncounted = True

    def _refuse_uncounted(self) -> None:
        if self._is_uncounted:
            raise ConfigError(
                f"budget = {self._options.budget:g}, but {self._connection.base_url} does not say "
                "what a picture was charged",
                "give price_image, or take the budget out",
            )

    def _tell(self, state: State) -> None:
        if self._session is not None:
            self._session.progress.note(state.words())

    async def _ask(self, line: Line, asked: Asked) -> Reply:
        """One request, and the picture from where it lies; see `providers.exchange.Call`."""
        import asyncio

        while self._came - self._kept >= _HELD:
            await asyncio.sleep(0.02)
        reply = as_block(await line.attempt(partial(self._send, line, asked), asked.read))
        if asked.parameter_fault is not None:
            raise ConfigError(
                f"{self._connection.base_url} refuses a parameter: {asked.parameter_fault}",
                "correct the options of the generator",
            )
        if reply.status == OK and asked.url is not None:
            reply = await self._fetch(asked, reply)
        self._came += asked.data is not None
        self._count(reply.usage)
        if self._is_uncounted:
            line.gate.close()
        # The picture is in `asked`: a reply that waits need not hold it twice.
        return replace(reply, body=b"", text=None)

    async def _send(self, line: Line, asked: Asked) -> tuple[bytes, Mapping[str, str]]:
        from openai import BadRequestError

        fields = {**self._options.request(), "prompt": asked.job.text}
        if self._options.send_seed:
            fields["seed"] = asked.job.seed
        try:
            response = await line.client.images.with_raw_response.generate(
                prompt=asked.job.text, extra_body=fields
            )
        except BadRequestError as error:
            if error.param in {*self._options.request(), "seed"}:
                asked.parameter_fault = words(error).rstrip(".")
            raise
        return response.content, response.headers

    async def _fetch(self, asked: Asked, reply: Reply) -> Reply:
        import asyncio

        try:
            # Not in the line's threads, which are as many as there are cores: this one only waits.
            asked.data = await asyncio.to_thread(
                download,
                asked.url or "",
                timeout=min(self._connection.timeout, _FETCH),
                tries=1 + self._pacing.retries,
                pause=self._pacing.back_off,
            )
        except OSError as error:
            failure = Failure(kind=ITEM, code="download", maybe_billed=True)
            return replace(reply, status=ERROR, reason=str(error), failure=failure)
        return reply

    def _made(self, asked: Asked, reply: Reply) -> Made:
        provenance = self._provenance(asked, reply)
        made = Made(image_id=asked.job.image_id, provenance=provenance, seconds=reply.seconds)
        if reply.status == OK:
            mark = self._mark(asked.data or b"")
            marks = {} if mark is None else {"marks": [mark]}
            return replace(made, data=asked.data or b"", provenance={**provenance, **marks})
        status = BLOCKED if reply.status == BLOCKED else "error"
        return replace(made, status=status, reason=reply.reason or reply.status)

    def _provenance(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        known = {
            "answered_by": reply.model,
            "revised_prompt": asked.revised_prompt,
            "answered": asked.echoed,
            "request_id": reply.request_id,
            "sendings": reply.attempt if reply.attempt > 1 else None,
            "tries": list(reply.tries),
            "headers": dict(reply.headers),
            USAGE: reply.usage.as_json(),
        }
        kept = {name: value for name, value in known.items() if value}
        return {**kept, "seed_sent": self._options.send_seed}

    def _mark(self, data: bytes) -> str | None:
        """What is odd about a picture that came: another size than was asked for."""
        wanted = self._options.pixels()
        came = _size_of(data)
        if wanted is None or came is None or came == wanted:
            return None
        return f"size {came[0]}x{came[1]} in the place of {wanted[0]}x{wanted[1]}"


def _price(options: OpenAIImagesOptions) -> Price | None:
    """The model's price; what a picture costs may come from the options alone."""
    found = price(options.model, options)
    if options.price_image is None:
        return found
    if found is None:
        return Price(input=0.0, cached=0.0, output=0.0, image=options.price_image, source="options")
    return replace(found, image=options.price_image)


def _size_of(data: bytes) -> tuple[int, int] | None:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            return opened.size
    except Exception:  # what is no picture is told when it is decoded
        return None
