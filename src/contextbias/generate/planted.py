"""The planted model: what a simulated generator draws, with what probability.

A picture follows either the role or the place. It follows the place with probability

    s * w(condition),    w(CF) = 0, w(CA-R) = related_weight (0), w(CA-U) = 1,

where s is the model's sensitivity, so that for every label

    P(label | role, condition) = (1 - s w) P_role(label) + s w P_everyday(label | place).

Given which of the two, the answers are drawn in this order (planted_nodes.py): gender_presentation;
age, skin, build, eyewear, tattoo, expression, pose, gaze; hair style, facial hair and head covering
given the presentation; hair colour given age and skin; outfit, its colours and accessories; items;
then light, weather, depth of field and framing, which follow the prompt in both models.

Random numbers are a Gaussian copula. Node k of the image of prompt q with seed e uses

    u = Phi(sqrt(rho) z(e, k) + sqrt(1 - rho) z(e, q, k)),

z standard normal numbers made from a hash. So images of one seed are alike over prompts, as with
paired seeds in real models, the marginal distributions stay exact, and nothing depends on the order
of work, the process or the machine.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TypeAlias

import polars as pl

from contextbias.generate.drawing.settings import palette_colors, setting_for
from contextbias.generate.explicit import nodes_for, show
from contextbias.generate.network import Network
from contextbias.generate.planted_answers import Question, questions, to_record
from contextbias.generate.planted_nodes import EVERYDAY, build_network
from contextbias.generate.planted_tables import Place, place_of, table
from contextbias.schema.codebook import DIMENSIONS
from contextbias.schema.records import Record
from contextbias.schema.wording import Named
from contextbias.tables import Prompt

PLANTED_SCHEMA = {
    "role": pl.String,
    "condition": pl.String,
    "cohort": pl.String,
    "dimension": pl.String,
    "label": pl.String,
    "p": pl.Float64,
}
"""Columns of the planted frame; whoever runs the generator adds its name as ``generator``."""

_NORMAL = NormalDist()
_BELOW_ONE = math.nextafter(1.0, 0.0)
_COMPLIES = "complies"  # the name under which its random number is drawn; no node has it

_Cell: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedModel:
    """One simulated text-to-image model."""

    name: str
    """Enters the random numbers: models of other names draw other pictures from one seed."""
    sensitivity: float
    """s in [0, 1]: how often an unrelated place overrides the role."""
    related_weight: float = 0.0
    """w(CA-R) in [0, 1]: how far a related place does so."""
    rho: float = 0.05
    """In [0, 1]: correlation between the latent numbers of one seed over prompts."""

    def place_share(self, condition: str) -> float:
        """s * w(condition): the probability that a picture follows the place.

        Raises:
            KeyError: `condition` is none of CF, CA-R and CA-U.
        """
        weights = {**table("planted")["weights"], "CA-R": self.related_weight}
        return float(self.sensitivity * weights[condition])

    def network(self, role: str, condition: str, location: str | None) -> Network:
        """The distribution over pictures of one prompt; shared by prompts of one kind of place."""
        return _network(role, condition, place_of(location), self.place_share(condition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One picture before it is painted."""

    record: Record
    """The truth: every dimension that the picture shows, ``unknown`` elsewhere."""
    follows_place: bool
    """True when the everyday person was drawn instead of the role's."""
    drawing_seed: int
    """Decides what the record leaves open: shades, the room's palette, where things stand."""


def draw_record(
    model: PlantedModel,
    *,
    role: str,
    condition: str,
    location: str | None,
    prompt_id: str,
    seed: int,
    named: Named | None = None,
    compliance: float = 1.0,
) -> Drawn:
    """Draw the truth of one picture; the same arguments give the same record everywhere.

    `named` is the label that the prompt names, and `compliance` the probability that the picture
    shows it for that reason; see explicit.py.
    """
    network = model.network(role, condition, location)
    uniform = _uniforms(model, prompt_id, seed)
    complies = named is not None and uniform(_COMPLIES) < compliance
    settled = nodes_for(named) if named is not None and complies else None
    answers = network.sample(uniform, settled)
    record = to_record(questions(network), answers)
    if named is not None and complies:
        show(record, named)
    drawing_seed = _hash(model.name, seed, prompt_id) % (1 << 31)
    record["scene"]["dominant_colors"] = list(palette_colors(location, drawing_seed))
    return Drawn(
        record=record,
        follows_place=answers["follows"] == EVERYDAY,
        drawing_seed=drawing_seed,
    )


def planted_rows(model: PlantedModel, prompts: Sequence[Prompt]) -> pl.DataFrame:
    """The exact probabilities behind the pictures of some prompts.

    Args:
        model: Who draws.
        prompts: The study's prompts.

    Returns:
        PLANTED_SCHEMA: one row per role, condition, dimension and label, with

            p = sum_q P(label and answerable | q) / sum_q P(answerable | q),

        q over the cell's prompts: the expected share of images with the label among those in which
        the dimension can be answered. A label that another cell can have is there with p = 0; a
        dimension that the cell can never answer (weather indoors) has no row.
    """
    cells: dict[_Cell, tuple[dict[str, float], list[float]]] = {}
    for cell, labels, known in _terms(model, prompts):
        shares, answerable = cells.setdefault(cell, (defaultdict(float), []))
        answerable.append(known)
        for label, p in labels.items():
            shares[label] += p
    vocabulary: dict[str, set[str]] = defaultdict(set)
    for (_, _, dimension), (shares, _) in cells.items():
        vocabulary[dimension].update(label for label, p in shares.items() if p > 0)
    rows = [
        (role, condition, DIMENSIONS[name].cohort, name, label, min(shares[label] / known, 1.0))
        for (role, condition, name), (shares, answerable) in cells.items()
        if (known := math.fsum(answerable)) > 0
        for label in vocabulary[name]
    ]
    return pl.DataFrame(rows, schema=PLANTED_SCHEMA, orient="row").sort(
        "role", "condition", "dimension", "label"
    )


def _terms(
    model: PlantedModel, prompts: Sequence[Prompt]
) -> Iterator[tuple[_Cell, dict[str, float], float]]:
    """For each kind of prompt: cell, P(label and answerable), P(answerable), times its prompts."""
    kinds = Counter((p.role, p.condition, place_of(p.location)) for p in prompts)
    for (role, condition, place), count in kinds.items():
        network = _network(role, condition, place, model.place_share(condition))
        for question in questions(network):
            labels, known = _marginals(network, question)
            weighted = {label: count * p for label, p in labels.items()}
            yield (role, condition, question.dimension), weighted, count * known
    for prompt in prompts:
        cell = (prompt.role, prompt.condition, "dominant_colors")
        yield cell, _background_colors(prompt.location), 1.0


@cache
def _background_colors(location: str | None) -> dict[str, float]:
    palettes = setting_for(location).palettes
    counts = Counter(color for palette in palettes for color in set(palette.dominant))
    return {color: count / len(palettes) for color, count in counts.items()}


@cache
def _network(role: str, condition: str, place: Place, place_share: float) -> Network:
    return build_network(role, condition, place, place_share)


@cache
def _marginals(network: Network, question: Question) -> tuple[dict[str, float], float]:
    return question.probabilities(network)


def _uniforms(model: PlantedModel, prompt_id: str, seed: int) -> Callable[[str], float]:
    shared, own = math.sqrt(model.rho), math.sqrt(1 - model.rho)

    def uniform(node: str) -> float:
        common = _normal(model.name, seed, node)
        private = _normal(model.name, seed, node, prompt_id)
        return min(_NORMAL.cdf(shared * common + own * private), _BELOW_ONE)

    return uniform


def _normal(*key: object) -> float:
    """A standard normal number that depends on `key` alone: 53 bits of a hash, inverted."""
    return _NORMAL.inv_cdf(((_hash(*key) >> 11) + 0.5) / (1 << 53))


def _hash(*key: object) -> int:
    """64 bits that depend on `key` alone."""
    digest = hashlib.blake2b("\x1f".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
