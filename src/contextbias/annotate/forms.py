"""What browsers send and get: fields of forms, answers as JSON, data for scripts."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.requests import Request

from contextbias.annotate.answering import Given, InvalidAnswer
from contextbias.schema import DIMENSIONS


async def form_of(request: Request) -> dict[str, str]:
    """Fields of a posted form; of several values the last."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    return {name: values[-1] for name, values in fields.items()}


def whole_number(text: str) -> int | None:
    """A number from an address or a form, 0 to 999,999,999; None for anything else.

    `int` alone takes other digits than these, and refuses thousands of them with an error.
    """
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def given_of(sent: Any) -> tuple[Given, tuple[str, str]]:
    """The answer in what the page sent, and of which study and annotator it says it is.

    Raises:
        KeyError: A field is missing.
        TypeError: A field is of another type.
        OverflowError: A number is larger than numbers are here.
    """
    if not isinstance(sent, dict):
        raise TypeError("an answer is an object")
    labels, reason, count = sent["labels"], sent["reason"], sent["count"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise TypeError("labels is no list of texts")
    numbers = [sent["position"], sent["based_on"], 0 if count is None else count]
    if not all(type(number) is int for number in numbers):
        raise TypeError("position, based_on and count are whole numbers")
    texts = [sent[name] for name in ("study", "annotator", "dimension", "key")]
    texts.append("" if reason is None else reason)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is missing")
    if sent["dimension"] not in DIMENSIONS:
        raise InvalidAnswer("there is no such question")
    seconds, age = sent["seconds"], sent.get("age", 0)
    for number in (seconds, age):
        if type(number) not in (int, float) or not math.isfinite(number):
            raise TypeError("seconds and age are numbers")
    given = Given(
        position=sent["position"],
        dimension=sent["dimension"],
        labels=tuple(labels),
        missing_reason=reason,
        count=count,
        seconds=float(seconds),
        based_on=sent["based_on"],
        key=sent["key"],
        age=float(age),
    )
    return given, (sent["study"], sent["annotator"])


def script_data(value: Any) -> Markup:
    """JSON that may stand in a script element."""
    text = json.dumps(value, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))
