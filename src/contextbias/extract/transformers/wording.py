"""A conversation about a picture as the text that a model's own template makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextbias.errors import MissingPart
from contextbias.extract.vision.instructions import REQUEST, Instructions

Message = dict[str, Any]
"""Of chat templates."""

_WHOLE_MODEL = "name a model that was tuned for instructions and pictures"


class Wording:
    """How a model is told what it is told.

    Args:
        processor: The model's own, of transformers.
        instructions: The words.

    Raises:
        MissingPart: It has no template for conversations, or one that leaves the words out.
    """

    def __init__(self, processor: Any, instructions: Instructions) -> None:
        self._processor = processor
        self._instructions = instructions
        own = getattr(processor, "chat_template", None)
        self._template = own or getattr(processor.tokenizer, "chat_template", None)
        if self._template is None:
            raise MissingPart("the model has no template for conversations", _WHOLE_MODEL)
        # Some templates know no words before the user's, and refuse or drop them.
        self._apart = self._is_said(apart=True)
        if not self._apart and not self._is_said(apart=False):
            raise MissingPart(
                "the model's template for conversations does not take a text with a picture",
                _WHOLE_MODEL,
            )

    def text(self, turns: Sequence[tuple[str, list[str]]]) -> str:
        """The text up to where the model goes on.

        Args:
            turns: Earlier answers about the picture, each with what is wrong with it.
        """
        return self._rendered(self._messages(turns, apart=self._apart))

    def starts_itself(self, text: str) -> bool:
        """Whether a text has the mark of its beginning already."""
        mark = self._processor.tokenizer.bos_token
        return mark is not None and text.startswith(mark)

    def _is_said(self, *, apart: bool) -> bool:
        try:
            text = self._rendered(self._messages([], apart=apart))
        except Exception:  # templates raise what they like
            return False
        lines = self._instructions.text.splitlines()
        return lines[0] in text and lines[-1] in text and "'type'" not in text

    def _messages(self, turns: Sequence[tuple[str, list[str]]], *, apart: bool) -> list[Message]:
        words = _said(self._instructions.text)
        asked = [{"type": "image"}, _said(REQUEST)]
        messages: list[Message] = [{"role": "user", "content": asked if apart else [words, *asked]}]
        if apart:
            messages.insert(0, {"role": "system", "content": [words]})
        for answer, faults in turns:
            again = self._instructions.repair(faults)
            messages.append({"role": "assistant", "content": [_said(answer)]})
            messages.append({"role": "user", "content": [_said(again)]})
        return messages

    def _rendered(self, messages: list[Message]) -> str:
        return str(
            self._processor.apply_chat_template(
                messages, chat_template=self._template, tokenize=False, add_generation_prompt=True
            )
        )


def _said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
