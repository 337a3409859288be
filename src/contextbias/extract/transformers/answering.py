"""The loop on the device: pictures in, answers out, fewer at a time where memory runs out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from PIL import Image
from transformers import LogitsProcessorList

from contextbias.engines.accelerator import give_back, is_out_of_memory
from contextbias.errors import ConfigError, ContextBiasError
from contextbias.extract.protocol import Picture
from contextbias.extract.transformers.constraint import Constraint, Grammar
from contextbias.extract.transformers.loading import Loaded
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.wording import Wording
from contextbias.extract.vision.answers import Answer, parse_answer
from contextbias.ids import content_hash
from contextbias.tables import OK

TRUNCATED = "truncated"
"""Status of an answer that was cut at the token limit."""
ERROR = "error"
"""Status where there is no answer."""

_USUAL = 1024  # pixels of the side of a picture that is given as large as it is
_GREY = (128, 128, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model."""

    status: str = OK
    """``ok`` (it came to its end), ``truncated`` or ``error``."""
    reason: str | None = None
    """Why not ``ok``, in words."""
    text: str = ""
    """What it said."""
    input: int = 0
    """Tokens of the question, those of the picture included."""
    output: int = 0
    """Tokens of the answer."""
    seconds: float = 0.0
    """Its share of the time of the batch."""
    batch: tuple[int, int] = (1, 0)
    """Size of the batch, and its place there."""


@dataclass(slots=True)
class Asked:
    """A picture, and what was said about it."""

    picture: Picture
    """Which one."""
    image: Image.Image
    """Its pixels, in the common size."""
    turns: list[Turn] = field(default_factory=list)
    """Answers that count, the last one last."""
    answer: Answer | None = None
    """What became of the last one's text; None where it did not come to its end."""
    not_repaired: str | None = None
    """Why a second turn brought no answer; None where it did, or there was none."""

    def earlier(self) -> list[tuple[str, list[str]]]:
        """Answers so far, each with what is wrong with it."""
        faults = [] if self.answer is None else self.answer.faults
        return [(turn.text, faults) for turn in self.turns]


class Answering:
    """One loaded model at work.

    Args:
        loaded: The model.
        options: How it is asked.

    Raises:
        ConfigError: A question and the longest answer do not fit into the model's context.
        MissingPart: Its template or its tokenizer is of no use.
    """

    def __init__(self, loaded: Loaded, options: TransformersReaderOptions) -> None:
        self._loaded = loaded
        self._options = options
        instructions = options.instructions()
        self._wording = Wording(loaded.processor, instructions)
        self._grammar = Grammar(
            instructions.schema,
            loaded.processor.tokenizer,
            vocabulary=loaded.vocabulary,
            ends=loaded.ends,
        )
        self.most = options.batch
        """Pictures at a time, as far as memory is known to allow."""
        self._refuse_too_long()

    def ask(self, asked: Sequence[Asked]) -> None:
        """Let the model answer about each picture, once more where its answer is faulty."""
        for each, turn in zip(asked, self._turns(asked), strict=True):
            each.turns.append(turn)
            each.answer = parse_answer(turn.text) if turn.status == OK else None
        if not self._options.repair:
            return
        faulty = [each for each in asked if each.answer is not None and each.answer.faults]
        for each, turn in zip(faulty, self._turns(faulty), strict=True):
            if turn.status == ERROR:
                each.not_repaired = turn.reason  # the first answer is the one that there is
                continue
            each.turns.append(turn)
            each.answer = parse_answer(turn.text) if turn.status == OK else None

    def _turns(self, asked: Sequence[Asked]) -> list[Turn]:
        """One answer for each, in as few calls as fit."""
        turns: list[Turn] = []
        while rest := asked[len(turns) :]:
            part = rest[: self.most]
            try:
                turns += self._answers(part)
            except _TooMany as error:
                reason = str(error)
            else:
                continue
            # Out of the handler, which would keep the failed call's tensors alive.
            give_back(self._loaded.device)
            if len(part) == 1:
                turns.append(Turn(status=ERROR, reason=reason))
            self.most = max(1, len(part) // 2)
        return turns

    def _answers(self, asked: Sequence[Asked]) -> list[Turn]:
        """Answers of one call.

        Raises:
            _TooMany: It does not fit into the memory.
        """
        began = time.perf_counter()
        try:
            texts = [self._wording.text(each.earlier()) for each in asked]
            questions = self._tensors(texts, [each.image for each in asked])
            length = questions["input_ids"].shape[1]
            if (reason := self._too_long(length)) is not None:
                return self._one_by_one(asked, reason)
            seeds = [self._seed(each) for each in asked]
            constraint = Constraint(self._grammar, seeds, self._options.temperature)
            told = self._generated(questions, constraint)[:, length:].tolist()
            faults = constraint.faults()
        except (_TooMany, ContextBiasError):
            raise
        except Exception as error:  # a failing batch is rows
            if is_out_of_memory(error):
                raise _TooMany("one picture does not fit into the memory of the device") from None
            return [Turn(status=ERROR, reason=f"{type(error).__name__}: {error}") for _ in asked]
        seconds = (time.perf_counter() - began) / len(asked)
        lengths = questions["attention_mask"].sum(dim=1).tolist()
        return [
            self._turn(tokens, fault, input=lengths[row], seconds=seconds, batch=(len(asked), row))
            for row, (tokens, fault) in enumerate(zip(told, faults, strict=True))
        ]

    def _one_by_one(self, asked: Sequence[Asked], reason: str) -> list[Turn]:
        """A batch in which one question is too long: only that one stays without an answer."""
        if len(asked) == 1:
            return [Turn(status=ERROR, reason=reason)]
        return [turn for each in asked for turn in self._answers([each])]

    def _turn(self, tokens: list[int], fault: str | None, **about: Any) -> Turn:
        ends = [place for place, token in enumerate(tokens) if token in self._loaded.ends]
        said = tokens[: ends[0]] if ends else tokens
        text = self._loaded.processor.tokenizer.decode(
            said, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        status, reason = OK, fault
        if fault is not None:
            status = ERROR
        elif not ends:
            status, reason = TRUNCATED, f"cut at {len(said):,} tokens"
        return Turn(status=status, reason=reason, text=text, output=len(said), **about)

    def _tensors(self, texts: Sequence[str], images: Sequence[Image.Image]) -> Any:
        """A batch of questions, a text and a picture each, on the CPU."""
        tensors = self._loaded.processor(
            text=list(texts),
            images=[[image] for image in images],
            padding=True,
            return_tensors="pt",
            add_special_tokens=not self._wording.starts_itself(texts[0]),
        )
        tensors.pop("labels", None)  # some processors make them, for training
        return tensors

    def _generated(self, questions: Any, constraint: Constraint) -> Any:
        placed = questions.to(device=self._loaded.device, dtype=self._loaded.dtype)
        with torch.inference_mode():
            return self._loaded.model.generate(
                **placed, logits_processor=LogitsProcessorList([constraint])
            )

    def _seed(self, asked: Asked) -> int:
        key = ["tokens", self._options.seed, asked.picture.image_id, len(asked.turns)]
        return int(content_hash(key, length=12), 16)

    def _too_long(self, length: int) -> str | None:
        """Why a question of so many tokens cannot be asked; None where it can."""
        context, most = self._loaded.context, self._options.max_tokens
        if context is None or length + most <= context:
            return None
        return (
            f"text and picture take {length:,} tokens and the answer up to {most:,}, and the model "
            f"takes {context:,} in all"
        )

    def _refuse_too_long(self) -> None:
        side = self._options.size or _USUAL
        square = Image.new("RGB", (side, side), _GREY)
        length = self._tensors([self._wording.text([])], [square])["input_ids"].shape[1]
        reason = self._too_long(length)
        if reason is not None:
            raise ConfigError(
                f"max_tokens = {self._options.max_tokens}: {reason}", self._room(length)
            )

    def _room(self, length: int) -> str:
        left = (self._loaded.context or 0) - length
        return f"take at most {left}" if left > 0 else "take a smaller `size`, or another model"


class _TooMany(Exception):
    """A batch did not fit into the memory."""
