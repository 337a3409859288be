"""How Bias Intensity and consistency move with the clustering threshold.

    python perf/threshold.py

A made-up study of 24 roles with 20, 70 and 80 images in CF, CA-R and CA-U (10 for each of 18
prompts, but 20 in CF). Each role has two concepts that dominate its pictures and a tail; in CA-U an
image takes a concept of the place instead with probability .3. Concepts are the sets of gold pairs
of one concept; the reader writes a concept in one of its terms, in four of ten images with one or
two words more ("old denim jacket"). Counted once by concept, which a reader does not know, and then
by the labels of each mapping. Means over garments, items and activities; needs the weights.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from canonicalise_gold import pairs

from contextbias.canonicalise.encoder import MiniLM
from contextbias.canonicalise.grouping import Grouping, group_labels
from contextbias.canonicalise.text import normalise
from contextbias.stats.entropy import bias_intensity, effective_labels, plug_in_entropy
from contextbias.stats.proportion import consistency_score

IMAGES = (20, 70, 80)
ROLES = 24
WORDS = ("old", "new", "plain", "worn", "clean", "dark", "small", "large", "modern", "simple")
THRESHOLDS = (0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.42, 0.44, 0.46)
Answers = list[tuple[int, int, str, str]]
"""Role, condition, concept, term."""


def concepts(dimension: str) -> list[list[str]]:
    """Sets of terms of one concept."""
    owner: dict[str, set[str]] = {}
    for pair in pairs():
        if pair.dimension == dimension:
            one, two = normalise(pair.first), normalise(pair.second)
            owner.setdefault(one, {one})
            owner.setdefault(two, {two})
            if pair.same:
                whole = owner[one] | owner[two]
                owner.update(dict.fromkeys(whole, whole))
    return [list(some) for some in sorted({tuple(sorted(some)) for some in owner.values()})]


def answers(dimension: str, rng: np.random.Generator) -> Answers:
    """What the reader writes, one answer an image."""
    known = concepts(dimension)
    shares = 1 / np.arange(1, len(known) + 1)
    tail = shares / shares.sum()
    found = []
    for role in range(ROLES):
        own, others = rng.choice(len(known), 2, replace=False), rng.permutation(len(known))
        for condition, images in enumerate(IMAGES):
            for _ in range(images):
                place = condition == 2 and rng.random() < 0.3
                typical = own[int(rng.random() < 0.25)] if rng.random() < 0.7 else None
                concept = (
                    others[rng.choice(len(known), p=tail)] if place or typical is None else typical
                )
                terms = known[concept]
                found.append((role, condition, str(concept), _wording(terms, rng)))
    return found


def _wording(terms: list[str], rng: np.random.Generator) -> str:
    # The first term of a set is said most often.
    weights = 1 / np.arange(1, len(terms) + 1)
    term = terms[rng.choice(len(terms), p=weights / weights.sum())]
    more = rng.choice(WORDS, size=rng.choice(3, p=(0.6, 0.3, 0.1)), replace=False)
    return " ".join([*more, term])


def numbers(labels: list[str], said: Answers) -> tuple[float, ...]:
    """Labels, effective labels, BI in CF and CA-U - CF, mean CCS and how many it is of."""
    known = {label: place for place, label in enumerate(sorted(set(labels)))}
    x: NDArray[np.int64] = np.zeros((ROLES, len(IMAGES), len(known)), np.int64)
    for (role, condition, _, _), label in zip(said, labels, strict=True):
        x[role, condition, known[label]] += 1
    pooled = plug_in_entropy(x.sum(axis=0))
    intensity = bias_intensity(pooled, len(known))
    n = np.broadcast_to(np.array(IMAGES), (ROLES, len(known), len(IMAGES)))
    score = consistency_score(x.transpose(0, 2, 1), n)
    defined = score.point[np.isfinite(score.point)]
    effective = effective_labels(plug_in_entropy(x.sum(axis=(0, 1))))
    return (len(known), float(effective), float(intensity[0]),
            float(intensity[2] - intensity[0]), float(defined.mean()), len(defined))  # fmt: skip


def main() -> None:
    rng = np.random.default_rng(1)
    encoder = MiniLM()
    rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for dimension in ("clothing_garment", "items", "activities"):
        said = answers(dimension, rng)
        terms = [term for *_, term in said]
        counts = {term: terms.count(term) for term in sorted(set(terms))}
        rows["by concept (truth)"].append(numbers([concept for _, _, concept, _ in said], said))
        rows["pass-through"].append(numbers(terms, said))
        for threshold in (None, *THRESHOLDS):
            how = Grouping(method="table")
            if threshold is not None:
                how = Grouping(method="cluster", threshold=threshold, encoder=encoder.name)
            mapping = group_labels({dimension: counts}, how, lambda: encoder)
            name = "table" if threshold is None else f"cluster at {threshold:.2f}"
            of = mapping.labels[dimension]
            rows[name].append(numbers([of[term] for term in terms], said))
    head = ("labels", "exp H", "BI CF", "CA-U - CF", "mean CCS", "CCS of")
    print(f"{'':20}" + "".join(f"{name:>11}" for name in head))
    for name, values in rows.items():
        mean = np.mean(values, axis=0)
        print(f"{name:20}{mean[0]:11.0f}{mean[1]:11.1f}{mean[2]:11.3f}{mean[3]:+11.3f}"
              f"{mean[4]:11.1f}{mean[5]:11.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
