"""OpenAIReader: one request a picture, with a strict schema; every answer and failure is a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import tee
from typing import Any
from urllib.parse import urlsplit

from contextbias.extract.openai.asking import Asked, Asking
from contextbias.extract.openai.expected import Expected
from contextbias.extract.openai.options import OpenAIReaderOptions, without_schema
from contextbias.extract.openai.readings import Common
from contextbias.extract.openai.selftest import Proofs, SelfTest
from contextbias.extract.protocol import Picture, RawReading
from contextbias.forecast import Forecast, Requirement
from contextbias.ids import content_hash
from contextbias.providers.batch import batches, refuse_twice
from contextbias.providers.budget import Budget, budgeted, require_price
from contextbias.providers.connection import Connection
from contextbias.providers.exchange import State, exchange
from contextbias.providers.lint import lint_schema
from contextbias.providers.outcomes import Reply, Usage
from contextbias.providers.pacing import Pacing
from contextbias.providers.prices import price
from contextbias.providers.profiles import profile
from contextbias.providers.session import Session
from contextbias.schema import DIMENSIONS
from contextbias.worklist import utc_now


class OpenAIReader:
    """A vision-language model behind OpenAI's API, or a server that speaks it.

    Args:
        options: The options of study.toml; see `OpenAIReaderOptions`.

    Raises:
        ConfigError: An option is unknown, has a wrong value, or is refused by the model; a budget
            without a price; or a schema that the provider would refuse.
    """

    parallel = "stream"
    takes_batches = True
    """By `begin`, with ``session.batch``."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = chosen = OpenAIReaderOptions.parse(options, backend="openai")
        self._profile = profile(chosen.model, structured=chosen.structured_mode())
        self._instructions = chosen.instructions(self._profile)
        self._request = chosen.request(self._profile)
        lint_schema(self._instructions.schema, self._profile)
        self._price = price(chosen.model, chosen)
        require_price(chosen.budget, self._price, chosen.model)
        self._connection = Connection.of(chosen)
        self._pacing = Pacing.of(chosen)
        self._session: Session | None = None

    @property
    def concurrency(self) -> int:
        """Most requests at a time, for a plan."""
        return self._pacing.concurrency

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers; see `OpenAIReaderOptions.settings`."""
        return self._options.settings(self._profile)

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Every dimension with all its labels; how well is another question."""
        return dict.fromkeys(DIMENSIONS)

    @property
    def keeps_answers(self) -> bool:
        """Whether what was yielded and not kept is still there: the answers of batches are."""
        return self._in_batches

    def begin(self, session: Session) -> None:
        """Be told about the study, before the first picture."""
        self._session = session

    def read(self, picture: Picture) -> RawReading:
        """Read one picture."""
        ((_, reading),) = self.read_many([picture])
        return reading

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        """Read every picture, many at a time; see extract/protocol.py.

        Raises:
            ConfigError: The server does not hold the model to the schema.
            Incomplete: A budget, a quota, or a failure that every picture would share.
            MissingPart: openai is not installed, or there is no key that the server takes.
        """
        asked = map(Asked, pictures)
        budget = self._budget()
        tested = self._tested(budget)
        common = self._common()
        for each, reply in self._answers(asked, budget):
            yield each.picture.image_id, common.reading(each, reply, tested, batch=self._in_batches)
            each.answer = each.payload = tested = None

    def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:
        """Calls, tokens, money and time, guessed from lengths and the model's profile."""
        return budgeted(self._expected().forecast(pictures, pixels), self._budget())

    def plan_after(
        self, pictures: int, finished: Sequence[tuple[dict[str, Any], float]]
    ) -> Forecast:
        """The same from what finished readings took; see extract/protocol.py."""
        return budgeted(self._expected().measured(pictures, finished), self._budget())

    def requirements(self) -> list[Requirement]:
        """What has to be there: (what, whether it is, what was found, what to do)."""
        found = self._connection.requirements()
        if (ending := self._profile.ending()) is not None:
            soon = self._profile.ends_soon()
            fix = "read what is left before, or name another" if soon else ""
            found.append((self._profile.model, not soon, ending, fix))
        return found

    # ---- inside

    @property
    def _in_batches(self) -> bool:
        asked_for = self._session is not None and self._session.batch
        return self._options.batch or asked_for

    def _answers(
        self, asked: Iterator[Asked], budget: Budget | None
    ) -> Iterator[tuple[Asked, Reply]]:
        """One request after another, or by batches."""
        call, session = self._asking(), self._session
        settings = content_hash(self.settings())

        def key_of(each: Asked) -> str:
            # Not the image's id alone: its file can be replaced while a batch is out.
            return each.picture.key or content_hash([settings, each.picture.image_id])

        if self._in_batches and session is not None:
            return batches(
                asked, call, key=key_of, connection=self._connection, options=self._options,
                session=session, budget=budget, on_state=self._tell,
            )  # fmt: skip
        total = None
        if session is not None:
            total = session.items
            # Pictures are asked for one by one: there may be 100,000 of them, or they are fetched.
            looked_at, asked = tee(asked)
            refuse_twice(map(key_of, looked_at), self._connection, session)
            del looked_at
        return exchange(
            asked, call, connection=self._connection, pacing=self._pacing, budget=budget,
            total=total, on_state=self._tell,
        )  # fmt: skip

    def _tested(self, budget: Budget | None) -> Usage | None:
        """Prove that the schema binds, unless that is known; usage of the test, if it was made."""
        test = SelfTest(self._connection.base_url, self._profile, self._options.params())
        proofs = None if self._session is None else Proofs.of(self._session.folder)
        known = proofs is not None and proofs.has(test.key)
        if not self._options.self_test or not test.is_needed or known:
            return None
        one = replace(self._pacing, concurrency=1)
        # To its end, so that its thread is gone before the next exchange begins.
        replies = list(
            exchange([None], test, connection=self._connection, pacing=one, budget=budget)
        )
        ((_, reply),) = replies
        test.check(reply)
        if proofs is not None:
            proofs.add(test.key, {"model": reply.model, "at": utc_now(), "text": reply.text})
        return reply.usage

    def _asking(self) -> Asking:
        options = self._options
        each = self._expected().usage(None)
        return Asking(
            self._instructions, self._request, options.size, options.encoding, options.quality,
            options.detail, options.repair, float(each.input + each.output),
        )  # fmt: skip

    def _common(self) -> Common:
        return Common(
            urlsplit(self._connection.base_url).netloc,
            self._profile.structured,
            without_schema(self._request),
            self._instructions.hash,
        )

    def _expected(self) -> Expected:
        effort = self._options.reasoning_effort or self._profile.effort
        return Expected(
            self._profile, self._instructions, effort, self._price, self._pacing,
            self._options.size, self._options.max_tokens, self._options.batch,
        )  # fmt: skip

    def _budget(self) -> Budget | None:
        """What may be spent, and what earlier runs of the study spent."""
        if self._price is None:
            return None
        spent, unknown = 0.0, 0
        if self._session is not None:
            unknown = self._session.usage.unknown + self._session.batch_usage.unknown
            spent = self._price.of(self._session.usage)
            spent += self._price.of(self._session.batch_usage, batch=True)
        expected = self._price.of(self._expected().usage(None), batch=self._in_batches)
        cost = self._price.batch_cost if self._in_batches else self._price.cost
        return Budget(self._options.budget, cost, spent=spent, expected=expected, unknown=unknown)

    def _tell(self, state: State) -> None:
        if self._session is not None:
            self._session.progress.note(state.words())
