"""The words that a model is given: one fixed text, the same for every picture of a study.

Nothing of a picture's prompt, role, condition, generator or file name is in it: a reader that knew
them would report its expectations. Because it is the same every time and stands first, services
that cache prompts charge less for it.

The texts lie in ``templates/``. A changed text is a new version, since it can change answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contextbias.ids import content_hash
from contextbias.schema.codebook import DIMENSIONS, UNKNOWN, Dimension
from contextbias.schema.records import NOT_APPLICABLE
from contextbias.schema.strict import MOST_PEOPLE, strict_schema

TEMPLATE_VERSION = "1"
"""Version of the texts; part of the names of the files."""

REQUEST = "Describe this picture."
"""What stands beside the picture."""

MOST_FAULTS = 12
"""Faults that are named in a request to put them right."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is said before the picture."""

    text: str
    """The fixed text; with the schema at its end where the service is not given it otherwise."""
    schema: dict[str, Any]
    """What the answer has to follow."""

    @property
    def hash(self) -> str:
        """Hash of everything that is said, in every turn."""
        return content_hash([self.text, self.schema, REQUEST, _template("repair")])

    def repair(self, faults: list[str]) -> str:
        """Ask for the answer once more.

        Args:
            faults: What is wrong with it, one a line.
        """
        shown = faults[:MOST_FAULTS]
        more = len(faults) - len(shown)
        lines = [f"- {fault}" for fault in shown] + ([f"- and {more} more"] if more else [])
        return _template("repair").format(faults="\n".join(lines)).strip()


def instructions(*, people: int = MOST_PEOPLE, schema_in_text: bool = False) -> Instructions:
    """The fixed text and the schema.

    Args:
        people: How many people an answer may describe.
        schema_in_text: For services that do not take a schema.
    """
    schema = strict_schema(people=people)
    text = _template("instructions").format(people=people, questions=_questions())
    if schema_in_text:
        # Not str.format: the schema is full of braces.
        told = json.dumps(schema, separators=(",", ":"))
        text += _template("schema").replace("{schema}", told)
    return Instructions(text.strip(), schema)


@cache
def _questions() -> str:
    return "\n".join(_question(dimension) for dimension in DIMENSIONS.values())


def _question(dimension: Dimension) -> str:
    labels = [*dimension.vocabulary, UNKNOWN]
    if dimension.name == "weather":
        labels.insert(-1, NOT_APPLICABLE)
    kind = "a list of " if dimension.kind == "many" else "one of "
    told = "short phrases" if dimension.is_open else ", ".join(labels)
    return f"- {dimension.cohort}.{dimension.name}: {dimension.question} ({kind}{told})"


@cache
def _template(name: str) -> str:
    path = files("contextbias.extract.vision").joinpath(f"templates/{name}-{TEMPLATE_VERSION}.txt")
    return path.read_text("utf-8")
