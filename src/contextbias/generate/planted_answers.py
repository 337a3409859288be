"""From the network's answers to the record's: what a picture shows, and what it cannot show.

One table of questions serves the record of a picture and its exact probabilities. Rules:

- A tight picture (head and shoulders) shows neither build nor pose, accessories or items: unknown.
- A covering that hides the hair makes hair_present ``no``, hair_style and hair_color unknown.
- Without facial hair its colour is unknown; without eyewear or covering their type is ``none``.
- Indoors the weather is not applicable.
- What the drawing does not show at all is unknown in every picture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from contextbias.generate.network import Network
from contextbias.generate.planted_nodes import ACCESSORY, ITEM, SEPARATOR, YES
from contextbias.schema.codebook import DIMENSIONS, EMPTY, UNKNOWN
from contextbias.schema.records import NOT_APPLICABLE, Record, empty_person, empty_record

HIDES_HAIR = frozenset({"hijab", "turban", "hood", "veil"})
"""Head coverings under which no hair is seen."""

_MISSING = frozenset({UNKNOWN, NOT_APPLICABLE})


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some nodes and what they say about one dimension."""

    nodes: tuple[str, ...]
    """Names of the nodes."""
    answer: Callable[..., str | tuple[str, ...]]
    """Answers of `nodes`, in order -> a label, ``unknown``, or (of a list) the labels present."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One dimension: the parts that answer it.

    A ``many`` dimension joins the labels of its parts; it is unknown when any part says so, which
    then all of them must do together. No two parts give the same label.
    """

    dimension: str
    """Name in the codebook."""
    parts: tuple[Part, ...]
    """One part for a ``one`` dimension."""

    def answer(self, answers: Mapping[str, str]) -> str | list[str]:
        """What the record says, given the answers of all nodes."""
        found = [part.answer(*(answers[name] for name in part.nodes)) for part in self.parts]
        if isinstance(found[0], str):
            return found[0]
        return list(dict.fromkeys(label for labels in found for label in labels))

    def probabilities(self, network: Network) -> tuple[dict[str, float], float]:
        """P(label and answerable) for each label, and P(answerable)."""
        shares: dict[str, float] = defaultdict(float)
        known = 1.0
        for part in self.parts:
            joint = network.marginal(part.nodes)
            known = 0.0
            values = product(*(network.values(name) for name in part.nodes))
            for p, combination in zip(joint.ravel().tolist(), values, strict=True):
                said = part.answer(*combination)
                labels = (said,) if isinstance(said, str) else said
                known += 0.0 if _MISSING & set(labels) else p
                for label in set(labels) - _MISSING:
                    shares[label] += p
        return dict(shares), known


@cache
def questions(network: Network) -> tuple[Question, ...]:
    """The questions that pictures of `network` answer, in codebook order."""
    parts = {
        **{name: (Part((name,), _same),) for name in _AS_DRAWN},
        **_PRESENCE,
        **_PERSON,
        "accessories": _presences(network, ACCESSORY),
        "items": _presences(network, ITEM),
    }
    return tuple(Question(name, parts[name]) for name in DIMENSIONS if name in parts)


def to_record(asked: tuple[Question, ...], answers: Mapping[str, str]) -> Record:
    """The record of one picture with one person; what is not asked stays ``unknown``."""
    record = empty_record()
    person = empty_person()
    for question in asked:
        cohort = DIMENSIONS[question.dimension].cohort
        home = person if cohort == "people" else record[cohort]
        home[question.dimension] = question.answer(answers)
    record["people"] = [person]
    return record


def _presences(network: Network, prefix: str) -> tuple[Part, ...]:
    nodes = [name for name in network.names if name.startswith(prefix)]
    return tuple(Part(("framing", node), _there(node.removeprefix(prefix))) for node in nodes)


def _there(label: str) -> Callable[[str, str], str | tuple[str, ...]]:
    def answer(framing: str, present: str) -> str | tuple[str, ...]:
        if framing == "tight":
            return UNKNOWN
        return (label,) if present == YES else ()

    return answer


def _same(answer: str) -> str:
    return answer


def _unless_tight(framing: str, answer: str) -> str:
    return UNKNOWN if framing == "tight" else answer


def _any(kind: str) -> str:
    return "no" if kind == EMPTY else YES


def _hair_shows(covering: str) -> str:
    return "no" if covering in HIDES_HAIR else YES


def _unless_covered(covering: str, answer: str) -> str:
    return UNKNOWN if covering in HIDES_HAIR else answer


def _beard_color(style: str, color: str) -> str:
    return UNKNOWN if style == EMPTY else color


def _garments(outfit: str) -> tuple[str, ...]:
    return tuple(outfit.split(SEPARATOR)[1:])


def _colors(coloring: str) -> tuple[str, ...]:
    return tuple(coloring.split(SEPARATOR))


_AS_DRAWN = (
    "mood",
    "color_temperature",
    "weather",
    "depth_of_field",
    "framing",
    "age_range",
    "eyewear_type",
    "facial_hair_style",
    "gender_presentation",
    "gaze_direction",
    "tattoo_present",
    "head_covering_type",
    "expression",
    "skin_tone",
)

_PRESENCE = {
    "eyewear_present": (Part(("eyewear_type",), _any),),
    "facial_hair_present": (Part(("facial_hair_style",), _any),),
    "head_covering_present": (Part(("head_covering_type",), _any),),
    "hair_present": (Part(("head_covering_type",), _hair_shows),),
}

_PERSON = {
    "body_type": (Part(("framing", "body_type"), _unless_tight),),
    "pose": (Part(("framing", "pose"), _unless_tight),),
    "hair_style": (Part(("head_covering_type", "hair_style"), _unless_covered),),
    "hair_color": (Part(("head_covering_type", "hair_color"), _unless_covered),),
    "facial_hair_color": (Part(("facial_hair_style", "hair_color"), _beard_color),),
    "clothing_garment": (Part(("outfit",), _garments),),
    "clothing_color": (Part(("coloring",), _colors),),
}
