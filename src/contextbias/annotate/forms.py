"""What browsers send and get: fields of forms, answers as JSON, data for scripts."""

from __future__ import annotations

import json
import math
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


def given_of(sent: Any) -> tuple[Given, tuple[str, str]]:
    """The answer in what the page sent, and of which study and annotator it says it is.

    Raises:
        KeyError: A field is missing.
        TypeError: A field is of another type.
    """
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
    if not math.isfinite(sent["seconds"]):
        raise TypeError("seconds is no number")
    given = Given(
        position=sent["position"],
        dimension=sent["dimension"],
        labels=tuple(labels),
        missing_reason=reason,
        count=count,
        seconds=float(sent["seconds"]),
        based_on=sent["based_on"],
        key=sent["key"],
    )
    return given, (sent["study"], sent["annotator"])


def script_data(value: Any) -> Markup:
    """JSON that may stand in a script element."""
    text = json.dumps(value, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))
