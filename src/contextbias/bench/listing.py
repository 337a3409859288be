"""Prompts as CSV and as JSON lines: the form in which ContextBench is published."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

from contextbias.tables import Prompt

COLUMNS = (
    "id",
    "role",
    "condition",
    "base",
    "variant",
    "location",
    "activity",
    "text",
    "prompted",
)
"""Columns of a listing, in this order; see `contextbias.tables.Prompt` for their meaning."""

PROMPTED_SEPARATOR = ";"
"""Between the dimensions of ``prompted`` in CSV; in JSON they are a list."""


def to_csv(prompts: Iterable[Prompt]) -> str:
    """Write one line a prompt under a header line.

    A location or an activity that the sentence does not name is an empty field. Lines end in a
    line feed on every platform.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for prompt in prompts:
        dimensions = PROMPTED_SEPARATOR.join(prompt.prompted)
        writer.writerow([*_fields(prompt), dimensions])
    return buffer.getvalue()


def to_jsonl(prompts: Iterable[Prompt]) -> str:
    """Write one JSON object a prompt and line; what the sentence does not name is null."""
    rows = (
        dict(zip(COLUMNS, [*_fields(prompt), list(prompt.prompted)], strict=True))
        for prompt in prompts
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _fields(prompt: Prompt) -> list[str | None]:
    return [
        prompt.prompt_id,
        prompt.role,
        prompt.condition,
        prompt.base,
        prompt.variant,
        prompt.location,
        prompt.activity,
        prompt.text,
    ]
