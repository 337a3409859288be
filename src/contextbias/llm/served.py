"""A language model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import Field

from contextbias.errors import ConfigError
from contextbias.forecast import Forecast, Requirement
from contextbias.llm.question import INVALID, OK, Answer, Question
from contextbias.llm.settle import estimated_tokens
from contextbias.providers import (
    Budget,
    BudgetOptions,
    Connection,
    ConnectionOptions,
    Line,
    ModelProfile,
    Pacing,
    PacingOptions,
    Params,
    Price,
    Reply,
    Usage,
    budgeted,
    complete,
    exchange,
    lint_schema,
    price,
    profile,
    require_price,
)
from contextbias.providers.chat import request_fields
from contextbias.providers.connection import OPENAI

_ANSWER_SHARE = 0.5
"""Of the tokens that an answer may have, how many one is expected to have."""


class ServedOptions(ConnectionOptions, PacingOptions, BudgetOptions):
    """Options of a language model that answers in text."""

    model: str = Field(min_length=1)
    """Name of the model, as the server knows it: ``gpt-5.4-mini``, or a dated snapshot of it."""
    reasoning_effort: str | None = None
    """``minimal``, ``low``, ``medium``, ``high``, as the model has it; left out: the profile's."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Left out: the server's default. Models that reason refuse one."""
    seed: int | None = None
    """For servers that know one."""
    reasoning_tokens: int = Field(default=4000, ge=0)
    """Room for hidden reasoning in the limit of an answer, with models that reason."""
    structured: str | None = None
    """How JSON is asked for: ``json_schema``, ``json_object_schema`` (llama-cpp-python),
    ``json_object`` or ``none``; left out: the profile's. Answers are checked in any case."""


class ServedModel:
    """Asks through `contextbias.providers`.

    Args:
        options: As `ServedOptions` has them.
        where: What has the options, for messages: ``[canonicalise.model]``.
        spent: Tokens that earlier runs used, by kind.

    Raises:
        ConfigError: An option is unknown, has a wrong value, or the model refuses it.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        where: str,
        spent: Mapping[str, int] | None = None,
    ) -> None:
        if "model" not in options:
            raise ConfigError(f"{where} names no model", 'write model = "gpt-5.4-mini", for one')
        self.options = _parsed(options, where)
        self._spent = Usage.from_json(spent or {})
        request_fields(None, self.profile, self._params(1))  # refuses what the model refuses
        require_price(self.options.budget, self.price, self.options.model)

    @cached_property
    def profile(self) -> ModelProfile:
        """What the model allows."""
        return profile(self.options.model, structured=self.options.structured)

    @cached_property
    def price(self) -> Price | None:
        """What it costs; None where that is not known."""
        return price(self.options.model, self.options)

    def settings(self) -> dict[str, Any]:
        """Model and parameters, and the address where it is not OpenAI's."""
        options = self.options
        given: dict[str, Any] = {
            "model": options.model,
            "reasoning_effort": options.reasoning_effort or self.profile.effort,
            "temperature": options.temperature,
            "seed": options.seed,
            "base_url": None if options.base_url == OPENAI else options.base_url,
        }
        return {name: value for name, value in given.items() if value is not None}

    def requirements(self) -> list[Requirement]:
        """What has to be there: (what, whether it is, what was found, what to do)."""
        return Connection.of(self.options).requirements()

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Answer]]:
        """See `Asker`."""
        for schema in {question.name: question.schema for question in questions}.values():
            lint_schema(schema, self.profile)
        for question, reply in exchange(
            questions,
            self._call,
            connection=Connection.of(self.options),
            pacing=Pacing.of(self.options),
            budget=self._budget(questions),
            total=len(questions),
        ):
            yield question, _answer_of(reply, self.options.model)

    def forecast(self, questions: Sequence[Question]) -> Forecast:
        """What asking is expected to take; repairs not counted."""
        usage = self._usage(questions)
        notes = []
        if self.price is None and not Connection.of(self.options).is_local:
            notes.append(f"the price of {self.options.model} is not known")
        if (ending := self.profile.ending()) is not None:
            notes.append(f"{self.options.model} {ending}")
        forecast = Forecast(
            calls=len(questions),
            tokens_in=usage.input,
            tokens_out=usage.output,
            money=None if self.price is None else self.price.of(usage),
            basis="about 4 letters a token; answers half as long as they may be",
            notes=tuple(notes),
        )
        return budgeted(forecast, self._budget(questions))

    def _usage(self, questions: Sequence[Question]) -> Usage:
        """What asking is expected to use."""
        received = int(_ANSWER_SHARE * sum(self._limit(question) for question in questions))
        return Usage(input=estimated_tokens(questions), output=received)

    async def _call(self, line: Line, question: Question) -> Reply:
        limit = self._limit(question)
        return await complete(
            line,
            question.messages,
            question.schema,
            self.profile,
            self._params(limit),
            tokens=estimated_tokens([question]) + _ANSWER_SHARE * limit,
        )

    def _params(self, limit: int) -> Params:
        options = self.options
        return Params(
            max_tokens=limit,
            reasoning_effort=options.reasoning_effort,
            temperature=options.temperature,
            seed=options.seed,
        )

    def _limit(self, question: Question) -> int:
        room = self.options.reasoning_tokens if self.profile.efforts else 0
        return question.max_tokens + room

    def _budget(self, questions: Sequence[Question]) -> Budget | None:
        if self.price is None:
            return None
        expected = self.price.of(self._usage(questions))
        return Budget(
            self.options.budget,
            self.price.cost,
            spent=self.price.of(self._spent),
            expected=expected / max(1, len(questions)),
            unknown=self._spent.unknown,
        )


def _parsed(options: Mapping[str, Any], where: str) -> ServedOptions:
    try:
        return ServedOptions.parse(dict(options), backend=where)
    except ConfigError as error:
        problem = error.problem.replace(f"options of the {where} backend", where)
        known = ", ".join(ServedOptions.model_fields)
        raise ConfigError(problem, f"correct it (options: {known})") from None


def _answer_of(reply: Reply, asked: str) -> Answer:
    """A reply, as it is kept. An empty answer is one that can be repaired.

    Args:
        reply: Of the server.
        asked: The model's name, for servers that do not say who answered.
    """
    is_answer = reply.status in (OK, INVALID)
    text = (reply.text if is_answer else reply.reason or reply.text) or ""
    return Answer(
        status=OK if is_answer else reply.status,
        text=text,
        model=reply.model or asked,
        usage=reply.usage.as_json(),
        request=reply.request_id or "",
    )
